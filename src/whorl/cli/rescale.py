"""`whorl rescale`: another number of tasks, or of logical partitions, whether the pipeline runs or not."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.pipelines import pipeline_of
from whorl.cli.remote import Remote, ServerOption, TokenOption, job_of
from whorl.cli.table import count, table
from whorl.errors import UsageError
from whorl.jobs.aside import foreseen, tell
from whorl.tasks.control import Rescale

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl rescale orders --tasks 4")
def rescale(
    of: Of,
    tasks: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Of each component; kept until it is rescaled again.", show_default=False
        ),
    ] = 0,
    partitions: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="L",
            help="Logical partitions, in which state is kept; must divide the topics'.",
            show_default=False,
        ),
    ] = 0,
    component: Annotated[
        list[str] | None,
        typer.Option(
            help="For --partitions: only this one; may be repeated. Else all that keep state.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Change how many tasks or logical partitions a pipeline has. One that runs pauses at a commit, and goes on."""
    if not tasks and not partitions:
        raise UsageError("neither --tasks nor --partitions is given", hint="say how many there are to be")
    if found := job_of(of, server, token):
        _rescale_job(*found, tasks, partitions, component, dry_run)
        return
    pipeline = pipeline_of(of, broker, profile, set_, config)
    order = Rescale(uuid.uuid4().hex, tasks, partitions, tuple(component or ()))
    if dry_run:
        typer.echo(_layouts(foreseen(pipeline, order)))
        typer.echo("nothing was changed")
        return
    _told(pipeline.name, tell(pipeline, order), partitions)


def _rescale_job(
    remote: Remote, id: str, tasks: int, partitions: int, components: list[str] | None, dry_run: bool
) -> None:
    if components:
        hint = "leave --component out, or stop the job and rescale the pipeline"
        raise UsageError("the job server rescales all components at once", hint=hint)
    body = {"tasks": tasks or None, "partitions": partitions or None, "dry_run": dry_run}
    done = remote.act(id, "rescale", body).result
    if dry_run:
        typer.echo(_layouts(done["components"]))
        typer.echo("nothing was changed")
    else:
        _told(id, done, partitions)


def _told(name: str, done: Mapping[str, Any], partitions: int) -> None:
    typer.echo(_layouts(done["components"]))
    moved = f", {count(done['entries'], 'entry', 'entries')} of state moved and verified" if partitions else ""
    typer.echo(f"rescaled '{name}'{moved}, in {done['seconds']:.1f} s")


def _layouts(scales: Mapping[str, Mapping[str, list[int]]]) -> str:
    rows = [(id, _change(each["tasks"]), _change(each["partitions"])) for id, each in scales.items()]
    return table(("COMPONENT", "TASKS", "LOGICAL PARTITIONS"), rows)


def _change(numbers: list[int]) -> str:
    before, now = numbers
    return f"{before} -> {now}" if before != now else str(now or "-")
