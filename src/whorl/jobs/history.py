"""How queries have done, told to the status topic as tasks tell it of themselves, so that it is known outside the process and afterwards."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

from whorl.jobs.job import Job
from whorl.kafka.clients import Clients
from whorl.query.host import QueryJob
from whorl.tasks.control import Status, StatusWriter

HEAP = "(heap)"
"""In place of a component: the share of the driver's memory that is in use."""
EVERY = 5.0


class History:
    """`heap`: tells that share now."""

    def __init__(self, clients: Clients, job: Job, uid: str, heap: Callable[[], float]) -> None:
        self._writer = StatusWriter(clients, job.plan.pipeline)
        self._job, self._uid, self._heap = job, uid, heap

    def tell(self) -> None:
        for status in self._statuses():
            self._writer.write(status)
        self._writer.flush()

    def _statuses(self) -> Iterator[Status]:
        for id, query in self._job.queries.jobs.items():
            yield self._status(id, _figures(query))
        yield self._status(HEAP, {"share": self._heap()})

    def _status(self, component: str, figures: dict[str, Any]) -> Status:
        return Status(self._uid, component, 0, 0, 0, platform.node(), os.getpid(), "query", time.time(), figures)


def _figures(query: QueryJob) -> dict[str, Any]:
    figures = query.figures
    positions: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in figures.positions.items():
        positions.setdefault(topic, {})[str(partition)] = offset
    return {
        "read": figures.read,
        "written": query.written,
        "dead": query.batches.dead,
        "lag": figures.lag,
        "batch": figures.batch,
        "batch_seconds": figures.batch_seconds,
        "state_rows": figures.state_rows,
        "late": figures.late,
        "positions": positions,
    }
