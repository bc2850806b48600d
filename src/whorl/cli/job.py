"""`whorl job`: one job of the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from whorl.cli.figures import figure, milliseconds, moment, share
from whorl.cli.remote import JobId, ServerOption, TokenOption, server_of
from whorl.cli.table import table
from whorl.server.schemas import Checkpoints, Component, Failure, JobDetail

app = typer.Typer(add_completion=False)
_COLUMNS = (
    "COMPONENT",
    "HOST",
    "STATUS",
    "RUNS ON",
    "TASKS",
    "READ",
    "WRITTEN",
    "DEAD",
    "LAG",
    "IN/S",
    "BUSY",
    "BATCH",
)
_MOST = 5


@app.command(epilog="Example: whorl job orders")
def job(
    id: JobId,
    settings: Annotated[bool, typer.Option("--settings", help="Each setting, and where its value came from.")] = False,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Show a job: how it fares, its components, savepoints and newest failures."""
    remote = server_of(server, token)
    found = JobDetail.model_validate(remote.get(f"/jobs/{id}"))
    if settings:
        rows = [(each.name, "-" if each.value is None else each.value, each.where) for each in found.settings]
        typer.echo(table(("SETTING", "VALUE", "FROM"), rows))
        return
    saved = Checkpoints.model_validate(remote.get(f"/jobs/{id}/checkpoints"))
    failures = [Failure.model_validate(each) for each in remote.get(f"/jobs/{id}/exceptions")]
    for line in (*_head(found), *_components(found.components), *_savepoints(saved), *_failures(failures)):
        typer.echo(line)


def _head(job: JobDetail) -> Iterator[str]:
    yield f"job {job.id}: pipeline '{job.pipeline}' of {job.file}"
    told = f": {job.reason}" if job.reason else ""
    yield f"  {job.status}, {job.health}{told}"
    yield f"  submitted {moment(job.created)}, started {moment(job.started)}, {job.restarts} restarts"
    if job.spark_ui:
        yield f"  Spark UI {job.spark_ui}"


def _components(components: list[Component]) -> Iterator[str]:
    rows = [
        (
            each.id,
            each.host,
            each.status,
            each.task_manager or "-",
            each.tasks or "-",
            figure(each.read),
            figure(each.written),
            figure(each.dead),
            figure(each.lag),
            figure(each.rate_in),
            share(each.busy),
            milliseconds(each.batch_ms),
        )
        for each in components
    ]
    yield table(_COLUMNS, rows)


def _savepoints(found: Checkpoints) -> Iterator[str]:
    for each in found.savepoints[:_MOST]:
        yield f"savepoint '{each.name}' of {moment(each.at)}: {each.folder}"


def _failures(failures: list[Failure]) -> Iterator[str]:
    for each in failures[:_MOST]:
        where = f"{each.where}: " if each.where else ""
        yield f"{moment(each.at)} {each.component}: {where}{each.error}"
