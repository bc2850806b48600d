"""`whorl check`: everything that is wrong with pipeline files, without Spark, Java or a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whorl.config.loader import load
from whorl.graph.check import check as findings_of


def check(
    files: Annotated[list[Path], typer.Argument(help="Pipeline files.", show_default=False)],
    profile: Annotated[str | None, typer.Option(help="Profile of whorl.yaml; WHORL_PROFILE says it too.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting: name=value. May be repeated.")] = None,
    config: Annotated[Path | None, typer.Option(help="The whorl.yaml to use instead of the one found.")] = None,
) -> None:
    """Report all findings of pipeline files as file:line:col: [code] message (hint); exit 1 if there are any."""
    total = 0
    for file in files:
        findings = findings_of(load(file, profile=profile, overrides=set_ or (), config=config))
        for finding in findings:
            typer.echo(str(finding))
        if not findings:
            typer.echo(f"{file}: ok")
        total += len(findings)
    if total:
        typer.echo(f"{total} finding{'s' * (total != 1)} in {len(files)} file{'s' * (len(files) != 1)}")
        raise typer.Exit(1)


app = typer.Typer()
app.command()(check)
