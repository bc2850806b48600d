"""`whorl savepoint`: all that a pipeline is, in a folder of its own, whether it runs or not."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.pipelines import pipeline_of, saved
from whorl.cli.remote import ServerOption, TokenOption, job_of
from whorl.jobs.aside import tell
from whorl.savepoints.catalog import default_name
from whorl.tasks.control import Savepoint

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl savepoint pipeline.yaml before-the-upgrade")
def savepoint(
    of: Of,
    name: Annotated[str | None, typer.Argument(help="Of the savepoint; else the time.", show_default=False)] = None,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Save a pipeline's state and positions. One that runs pauses at a commit, and goes on."""
    if found := job_of(of, server, token):
        remote, id = found
        typer.echo(saved(id, remote.act(id, "savepoints", {"name": name}).result))
        return
    pipeline = pipeline_of(of, broker, profile, set_, config)
    order = Savepoint(uuid.uuid4().hex, name or default_name())
    typer.echo(saved(pipeline.name, tell(pipeline, order)))
