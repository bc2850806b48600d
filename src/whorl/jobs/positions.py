"""How far each component of a pipeline has read, whether it runs or not: of tasks by their changelogs, of queries by their checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from whorl.config.settings import Settings
from whorl.jobs.session import session_aside
from whorl.jobs.showing import outside
from whorl.kafka.topics import Cluster, Place
from whorl.plan import naming
from whorl.query.checkpoint import Checkpoint, Logs
from whorl.spark.local import LocalFolder
from whorl.tasks.changelog import read_positions
from whorl.tasks.register import Registration

LogsOf = Callable[[str], Logs | None]
"""By component: the logs of its checkpoint; None where they cannot be had without Spark."""


@dataclass(frozen=True)
class Reader:
    """A component, as one who reads topics."""

    id: str
    group: str
    is_query: bool
    positions: Mapping[Place, int]
    sources: frozenset[str]
    """Topics that others write for it; the rest is between components, goes round, or is a table."""
    keeps: tuple[str, ...] = ()
    """Operators with state, or of a query itself, where it has some."""


def readers(cluster: Cluster, registration: Registration, logs: LogsOf) -> list[Reader]:
    return [*_of_tasks(cluster, registration), *_of_queries(cluster, registration, logs)]


def _of_tasks(cluster: Cluster, registration: Registration) -> Iterator[Reader]:
    for id, entry in registration.components.items():
        topic = naming.changelog_topic(registration.pipeline, registration.uid, id)
        positions = outside(read_positions(cluster.clients, topic, range(entry.layout.lps)))
        yield Reader(id, entry.group, False, positions, frozenset(entry.outside), tuple(entry.kept))


def _of_queries(cluster: Cluster, registration: Registration, logs: LogsOf) -> Iterator[Reader]:
    for id, entry in registration.queries.items():
        found = logs(id)
        counts = cluster.partition_counts() if found is None else {}
        everywhere = [(topic, p) for topic, count in counts.items() for p in range(count)]
        positions = cluster.committed(entry.group, everywhere) if found is None else found.read_up_to()
        keeps = (entry.keyed or (id,)) if found is not None and found.keeps_state else entry.keyed
        yield Reader(id, entry.group, True, positions, frozenset({t for t, _ in positions} - {*entry.edges}), keeps)


def local_logs(settings: Settings, registration: Registration) -> LogsOf:
    """Where checkpoints are here; elsewhere a query's group tells how far it is."""

    def logs(id: str) -> Logs | None:
        if not LocalFolder.has(settings.checkpoints):
            return None
        found = Logs(LocalFolder(_path(settings, registration, id)))
        return found if found.manifest() else None  # another folder than that in which it runs

    return logs


@contextmanager
def any_logs(settings: Settings, registration: Registration) -> Iterator[LogsOf]:
    """With Spark, where its file systems are needed."""
    if not registration.queries or LocalFolder.has(settings.checkpoints):
        yield local_logs(settings, registration)
        return
    with session_aside(settings, "offsets") as session:
        yield lambda id: Checkpoint(session, _path(settings, registration, id))


def _path(settings: Settings, registration: Registration, id: str) -> str:
    return Checkpoint.path_of(settings.checkpoints, registration.pipeline, registration.uid, id)
