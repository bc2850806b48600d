"""`whorl plan`: what a pipeline becomes, without Spark, Java or a broker; only what it changes (`--changes`) is known to a broker alone."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Annotated, Any

import typer

from whorl.cli.options import BrokerOption, Config, PipelineFile, Profile, Sets
from whorl.cli.table import table
from whorl.config.loader import Loaded, load
from whorl.errors import CheckFailed, UsageError
from whorl.flow.check import checked
from whorl.masking import masked
from whorl.plan.explain import explain
from whorl.plan.planner import make_plan
from whorl.plan.structured import as_json, as_mermaid

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl plan pipeline.yaml --profile staging")
def plan(
    file: PipelineFile,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid flowchart.")] = False,
    settings: Annotated[bool, typer.Option("--settings", help="Each setting, and where its value came from.")] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="What the file changes of the pipeline that has run under its name.")
    ] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Show what a pipeline becomes: the graph, its components, their topics and Spark jobs. With --changes: what becomes of its state."""
    if json + mermaid + settings + changes > 1:
        raise UsageError("--json, --mermaid, --settings and --changes exclude each other", hint="keep one of them")
    loaded = load(file, profile=profile, overrides=set_ or (), config=config)
    if settings:
        _show_settings(loaded)
        return
    if any(source.options and source.options.infers for source in loaded.spec.sources):
        loaded, found = import_module("whorl.jobs.schemas").settle(loaded)  # asks the broker, as only `infer` must
        typer.echo("".join(f"{each}\n" for each in found), nl=False, err=True)
    made = make_plan(checked(loaded), loaded.settings)
    if changes:
        import_module("whorl.cli.changes").show(made, broker)  # the only form that needs a Kafka client
        return
    form = as_json if json else as_mermaid if mermaid else explain
    typer.echo(form(made), nl=False)


def _show_settings(loaded: Loaded) -> None:
    if loaded.findings:
        raise CheckFailed(loaded.findings)
    rows = [(origin.name, _written(origin.name, origin.value), origin.where) for origin in loaded.origins]
    typer.echo(table(("SETTING", "VALUE", "FROM"), rows))


def _written(name: str, value: Any) -> str:
    value = masked(name, value)
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
