"""`whorl top`: the components of all jobs, those that need a look first."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from whorl.cli.figures import figure, milliseconds, share, size
from whorl.cli.remote import Remote, ServerOption, TokenOption, server_of
from whorl.cli.table import count, table
from whorl.errors import Unavailable
from whorl.server.schemas import Component, Job, JobList, JobStatus

app = typer.Typer(add_completion=False)
_COLUMNS = ("PIPELINE", "COMPONENT", "STATUS", "RUNS ON", "LAG", "IN/S", "OUT/S", "BUSY", "STATE", "BATCH")
_AT_WORK = (JobStatus.RUNNING, JobStatus.RESTARTING)


class By(StrEnum):
    LAG = "lag"
    RATE = "rate"
    BUSY = "busy"
    STATE = "state"
    BATCH = "batch"


class Row(NamedTuple):
    job: Job
    component: Component


_VALUE: dict[By, Callable[[Component], float | None]] = {
    By.LAG: lambda each: each.lag,
    By.RATE: lambda each: each.rate_in,
    By.BUSY: lambda each: each.busy,
    By.STATE: lambda each: each.state_bytes,
    By.BATCH: lambda each: each.batch_ms,
}


@app.command(epilog="Example: whorl top --by busy")
def top(
    by: Annotated[By, typer.Option(help="What they are ranked by.")] = By.LAG,
    once: Annotated[bool, typer.Option("--once", help="Show it once, and end.")] = False,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 1.0,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Show the components of all jobs live: lag, rates, busy share, state, batch time; the largest first."""
    remote = server_of(server, token)
    if once:
        typer.echo(_screen(remote, by))
        return
    console = Console(highlight=False, soft_wrap=True)
    try:
        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                live.update(Text(_looked(remote, by)), refresh=True)
                time.sleep(every)
    except KeyboardInterrupt:
        return


def _looked(remote: Remote, by: By) -> str:
    """A server that restarts is waited for."""
    try:
        return _screen(remote, by)
    except Unavailable as away:
        return str(away)


def _screen(remote: Remote, by: By) -> str:
    jobs = JobList.model_validate(remote.get("/jobs")).jobs
    rows = [
        Row(job, Component.model_validate(each))
        for job in jobs
        if job.status in _AT_WORK
        for each in remote.get(f"/jobs/{job.id}/components")
    ]
    head = f"{time.strftime('%H:%M:%S')}  {count(len(jobs), 'job')}, {count(len(rows), 'component')} at work, by {by}"
    return "\n".join([head, "", table(_COLUMNS, [_cells(row) for row in ranked(rows, by)])])


def ranked(rows: list[Row], by: By) -> list[Row]:
    """The largest first; those of which nobody knows last."""
    return sorted(rows, key=lambda row: -1.0 if (value := _VALUE[by](row.component)) is None else value, reverse=True)


def _cells(row: Row) -> tuple[str, ...]:
    each = row.component
    return (
        row.job.pipeline,
        each.id,
        each.status,
        each.task_manager or "-",
        figure(each.lag),
        figure(each.rate_in),
        figure(each.rate_out),
        share(each.busy),
        size(each.state_bytes),
        milliseconds(each.batch_ms),
    )
