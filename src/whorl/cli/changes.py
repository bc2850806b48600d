"""`whorl plan --changes`: what a file changes of the pipeline that has run under its name, which only a broker knows."""

from __future__ import annotations

import typer

from whorl.cli.table import table
from whorl.jobs.address import clients_at
from whorl.jobs.changes import changes
from whorl.jobs.ground import survey
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.plan.plan import Plan
from whorl.tasks.register import read_registration


def show(made: Plan, broker: str | None) -> None:
    """What `run` would refuse is told as it tells it."""
    cluster = Cluster(clients_at(broker, made.settings))
    there = cluster.partition_counts()
    registration = read_registration(cluster.clients, made.pipeline) if naming.REGISTER in there else None
    if registration is None:
        typer.echo(f"pipeline '{made.pipeline}' has not run yet")
        return
    found = changes(made, registration, survey(made, cluster, registration).read)
    rows = [(change.label.value, change.what, change.hint or "-") for change in found]
    typer.echo(table(("CHANGE", "WHAT", "REMEDY"), rows) if rows else "nothing of what it keeps or has read changes")
