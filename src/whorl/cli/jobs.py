"""`whorl jobs`: those of the job server."""

from __future__ import annotations

import typer

from whorl.cli.figures import age, figure, size
from whorl.cli.remote import ServerOption, TokenOption, server_of
from whorl.cli.table import count, table
from whorl.server.schemas import Job, JobList

app = typer.Typer(add_completion=False)
_COLUMNS = ("JOB", "NAME", "STATUS", "HEALTH", "AGE", "LAG", "IN/S", "STATE", "REASON")


@app.command(epilog="Example: whorl jobs --server http://127.0.0.1:8765")
def jobs(server: ServerOption = None, token: TokenOption = None) -> None:
    """List the jobs of the job server, newest first."""
    found = JobList.model_validate(server_of(server, token).get("/jobs")).jobs
    if found:
        typer.echo(table(_COLUMNS, [_row(job) for job in found]))
    typer.echo(count(len(found), "job"))


def _row(job: Job) -> tuple[str, ...]:
    first = (job.reason.splitlines() or [""])[0]
    return (
        job.id,
        job.name,
        job.status,
        job.health,
        age(job.created),
        figure(job.lag),
        figure(job.rate_in),
        size(job.state_bytes),
        first[:60],
    )
