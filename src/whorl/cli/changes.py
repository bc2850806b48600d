"""`whorl plan --changes`: what a file changes of the pipeline that has run under its name, which only a broker knows."""

from __future__ import annotations

import typer

from whorl.cli.table import table
from whorl.jobs.address import clients_at
from whorl.jobs.changes import changes
from whorl.plan.plan import Plan
from whorl.tasks.register import read_registration


def show(made: Plan, broker: str | None) -> None:
    """What `run` would refuse is told as it tells it."""
    registration = read_registration(clients_at(broker, made.settings), made.pipeline)
    if registration is None:
        typer.echo(f"pipeline '{made.pipeline}' has not run yet")
        return
    rows = [(change.label.value, change.what, change.hint or "-") for change in changes(made, registration)]
    typer.echo(table(("CHANGE", "WHAT", "REMEDY"), rows) if rows else "nothing of what it keeps or has read changes")
