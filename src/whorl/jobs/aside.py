"""An order to a pipeline whether it runs or not: where no driver lives, it is carried out here, in a Spark session for it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from whorl.jobs.ask import Pipeline
from whorl.jobs.hold import Hold
from whorl.jobs.interlude import Interlude, Scaling
from whorl.jobs.session import session_aside
from whorl.query.checkpoint import Checkpoint
from whorl.savepoints.catalog import Place
from whorl.spark.folder import Folder
from whorl.spark.local import LocalFolder
from whorl.tasks.control import Rescale, Savepoint


def tell(pipeline: Pipeline, order: Savepoint | Rescale) -> dict[str, Any]:
    """What was done; raises what was against it."""
    if holder := pipeline.holder():
        return pipeline.ask(holder, order)
    with (
        session_aside(pipeline.settings, pipeline.name) as session,
        Hold(pipeline.cluster, pipeline.name, pipeline.settings.heartbeat) as hold,
    ):
        return Interlude(session, pipeline.cluster, hold.driver, pipeline.settings).carry_out(order)


def foreseen(pipeline: Pipeline, order: Rescale) -> Mapping[str, Any]:
    """What a rescale would do; nothing is changed."""
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
