"""`whorl check`: everything that is wrong with pipeline files, without Spark, Java or a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whorl.config.loader import Loaded, load
from whorl.errors import Finding
from whorl.flow.check import examine
from whorl.plan import planner


def check(
    files: Annotated[list[Path], typer.Argument(help="Pipeline files.", show_default=False)],
    profile: Annotated[str | None, typer.Option(help="Profile of whorl.yaml; WHORL_PROFILE says it too.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting: name=value. May be repeated.")] = None,
    config: Annotated[Path | None, typer.Option(help="The whorl.yaml to use instead of the one found.")] = None,
) -> None:
    """Report all findings of pipeline files as file:line:col: [code] message (hint); exit 1 if there are any."""
    total = 0
    for file in files:
        findings = _findings(load(file, profile=profile, overrides=set_ or (), config=config))
        for finding in findings:
            typer.echo(str(finding))
        if not findings:
            typer.echo(f"{file}: ok")
        total += len(findings)
    if total:
        typer.echo(f"{total} finding{'s' * (total != 1)} in {len(files)} file{'s' * (len(files) != 1)}")
        raise typer.Exit(1)


def _findings(loaded: Loaded) -> list[Finding]:
    """Those of the graph; where there are none, what keeps the plan from being run as it is asked for."""
    graph, found = examine(loaded)
    inferring = any(source.options and source.options.infers for source in loaded.spec.sources)
    return found if found or inferring else planner.examine(graph, loaded.settings)[1]


app = typer.Typer()
app.command()(check)
