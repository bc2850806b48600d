"""`whorl plan`: what a pipeline becomes, without Spark, Java or a broker; only what it changes (`--changes`) is known to a broker alone."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import typer

from whorl.cli.options import BrokerOption, Config, PipelineFile, Profile, Sets
from whorl.cli.table import table
from whorl.config.loader import Loaded, load
from whorl.errors import CheckFailed, UsageError
from whorl.graph.check import checked
from whorl.jobs.address import clients_at
from whorl.jobs.changes import changes as changes_of
from whorl.plan.explain import explain
from whorl.plan.plan import Plan
from whorl.plan.planner import make_plan
from whorl.plan.structured import as_json, as_mermaid
from whorl.tasks.register import read_registration

app = typer.Typer(add_completion=False)
_SECRET = re.compile(r"password|secret|token|sasl\.jaas|private|ssl\.key\.pem", re.IGNORECASE)


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
    """Show what a pipeline becomes: the graph, its components, their topics and Spark jobs."""
    if json + mermaid + settings + changes > 1:
        raise UsageError("--json, --mermaid, --settings and --changes exclude each other", hint="keep one of them")
    loaded = load(file, profile=profile, overrides=set_ or (), config=config)
    if settings:
        _show_settings(loaded)
        return
    made = make_plan(checked(loaded), loaded.settings)
    if changes:
        _show_changes(made, broker)
        return
    form = as_json if json else as_mermaid if mermaid else explain
    typer.echo(form(made), nl=False)


def _show_changes(made: Plan, broker: str | None) -> None:
    """What `run` would refuse is told as it tells it. The only form that asks a broker."""
    registration = read_registration(clients_at(broker, made.settings), made.pipeline)
    if registration is None:
        typer.echo(f"pipeline '{made.pipeline}' has not run yet")
        return
    rows = [(change.label.value, change.what, change.hint or "-") for change in changes_of(made, registration)]
    typer.echo(table(("CHANGE", "WHAT", "REMEDY"), rows) if rows else "nothing of what it keeps or has read changes")


def _show_settings(loaded: Loaded) -> None:
    if loaded.findings:
        raise CheckFailed(loaded.findings)
    rows = [(origin.name, _written(origin.name, origin.value), origin.where) for origin in loaded.origins]
    typer.echo(table(("SETTING", "VALUE", "FROM"), rows))


def _written(name: str, value: Any) -> str:
    if _SECRET.search(name):
        return "***"
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
