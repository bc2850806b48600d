"""`whorl rescale`: another number of tasks, or of logical partitions, whether the pipeline runs or not."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.pipelines import pipeline_of
from whorl.cli.table import count, table
from whorl.errors import UsageError
from whorl.jobs.ask import Pipeline
from whorl.jobs.interlude import Scaling
from whorl.jobs.session import session_aside
from whorl.query.checkpoint import Checkpoint
from whorl.savepoints.catalog import Place
from whorl.spark.folder import Folder
from whorl.spark.local import LocalFolder
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
) -> None:
    """Change how many tasks or logical partitions a pipeline has. One that runs pauses at a commit, and goes on."""
    if not tasks and not partitions:
        raise UsageError("neither --tasks nor --partitions is given", hint="say how many there are to be")
    pipeline = pipeline_of(of, broker, profile, set_, config)
    order = Rescale(uuid.uuid4().hex, tasks, partitions, tuple(component or ()))
    if dry_run:
        typer.echo(_layouts(_wanted(pipeline, order)))
        typer.echo("nothing was changed")
        return
    done = pipeline.tell(order)
    typer.echo(_layouts(done["components"]))
    moved = f", {count(done['entries'], 'entry', 'entries')} of state moved and verified" if partitions else ""
    typer.echo(f"rescaled '{pipeline.name}'{moved}, in {done['seconds']:.1f} s")


def _wanted(pipeline: Pipeline, order: Rescale) -> Mapping[str, Any]:
    with _checkpoints(pipeline, order) as checkpoint:
        scaling = Scaling.of(
            pipeline.cluster, pipeline.registration, checkpoint, order.tasks, order.partitions, order.components
        )
    return scaling.components


@contextmanager
def _checkpoints(pipeline: Pipeline, order: Rescale) -> Iterator[Callable[[str], Place]]:
    """Of queries, by component. Spark is started only where its file systems are needed."""
    root, registration = pipeline.settings.checkpoints, pipeline.registration

    def path(id: str) -> str:
        return Checkpoint.path_of(root, registration.pipeline, registration.uid, id)

    if LocalFolder.has(root) or not (order.partitions and registration.queries):
        yield lambda id: LocalFolder(path(id))
        return
    with session_aside(pipeline.settings, "rescale") as session:
        yield lambda id: Folder(session, path(id), "checkpoints")


def _layouts(scales: Mapping[str, Mapping[str, list[int]]]) -> str:
    rows = [(id, _change(each["tasks"]), _change(each["partitions"])) for id, each in scales.items()]
    return table(("COMPONENT", "TASKS", "LOGICAL PARTITIONS"), rows)


def _change(numbers: list[int]) -> str:
    before, now = numbers
    return f"{before} -> {now}" if before != now else str(now or "-")
