"""`whorl stop`: a pipeline that runs elsewhere ends gracefully, with a savepoint."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.pipelines import pipeline_of, saved
from whorl.errors import WorldError
from whorl.savepoints.catalog import default_name
from whorl.tasks.control import Savepoint

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl stop orders before-the-upgrade")
def stop(
    of: Of,
    name: Annotated[str | None, typer.Argument(help="Of the savepoint; else the time.", show_default=False)] = None,
    savepoint: Annotated[bool, typer.Option(help="Take a savepoint when all has stopped.")] = True,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Stop a pipeline that runs: bulks and batches are finished and committed, then a savepoint is taken."""
    pipeline = pipeline_of(of, broker, profile, set_, config)
    if pipeline.holder() is None:
        hint = "'whorl savepoint' takes a savepoint of one that has stopped"
        raise WorldError(f"pipeline '{pipeline.name}' does not run", hint=hint, code="not-running")
    if savepoint:
        typer.echo(saved(pipeline.name, pipeline.tell(Savepoint(uuid.uuid4().hex, name or default_name(), stop=True))))
    pipeline.stop()
    typer.echo(f"stopped '{pipeline.name}'")
