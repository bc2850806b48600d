"""`whorl stop`: a pipeline that runs elsewhere, under the job server or in a terminal, ends gracefully, with a savepoint."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.pipelines import pipeline_of, saved
from whorl.cli.remote import Remote, ServerOption, TokenOption, job_of
from whorl.errors import WorldError
from whorl.jobs.aside import tell
from whorl.savepoints.catalog import default_name
from whorl.tasks.control import Savepoint

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl stop orders before-the-upgrade")
def stop(
    of: Of,
    name: Annotated[str | None, typer.Argument(help="Of the savepoint; else the time.", show_default=False)] = None,
    savepoint: Annotated[bool, typer.Option(help="Take a savepoint when all has stopped.")] = True,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, help="Of a job: the longest it may take, in seconds.", show_default=False)
    ] = None,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Stop a pipeline that runs: bulks and batches are finished and committed, then a savepoint is taken."""
    if found := job_of(of, server, token):
        _stop_job(*found, name, savepoint, timeout)
        return
    pipeline = pipeline_of(of, broker, profile, set_, config)
    if pipeline.holder() is None:
        hint = "'whorl savepoint' takes a savepoint of one that has stopped"
        raise WorldError(f"pipeline '{pipeline.name}' does not run", hint=hint, code="not-running")
    if savepoint:
        typer.echo(saved(pipeline.name, tell(pipeline, Savepoint(uuid.uuid4().hex, name or default_name(), stop=True))))
    pipeline.stop()
    typer.echo(f"stopped '{pipeline.name}'")


def _stop_job(remote: Remote, id: str, name: str | None, savepoint: bool, timeout: float | None) -> None:
    done = remote.act(id, "stop", {"savepoint": savepoint, "name": name, "timeout": timeout}).result
    if "savepoint" in done:
        typer.echo(saved(id, done["savepoint"]))
    typer.echo(f"stopped '{id}'")
