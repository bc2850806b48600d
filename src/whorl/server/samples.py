"""The last half hour of each job, for charts; and what follows from it, for those that are to follow their lag."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from whorl.server import pipelines
from whorl.server.autoscale import Now, wanted_tasks
from whorl.server.records import JobRecord, Wish
from whorl.server.schemas import Component, Job, JobStatus, Sample

_KEPT = 1800
"""Samples of a job, one a second."""


class Samples:
    def __init__(self) -> None:
        self._of: dict[str, deque[Sample]] = {}

    def of(self, job: str) -> list[Sample]:
        return list(self._of.get(job, ()))

    def take(self, job: Job) -> None:
        sample = Sample(
            at=time.time(),
            rate_in=job.rate_in or 0.0,
            rate_out=job.rate_out or 0.0,
            lag=job.lag or 0,
            busy=job.busy or 0.0,
            batch_ms=job.batch_ms or 0.0,
        )
        self._of.setdefault(job.id, deque(maxlen=_KEPT)).append(sample)

    def forget(self, job: str) -> None:
        self._of.pop(job, None)

    def scaling(self, record: JobRecord, components: Sequence[Component]) -> tuple[int, int] | None:
        """The tasks that it has and those that it should have, where that is another number."""
        scaled = [each for each in components if each.tasks]
        if not scaled or record.status is not JobStatus.RUNNING or record.wanted is not Wish.RUN:
            return None
        rule = pipelines.settings_of(record).autoscale
        if rule is None:
            return None
        tasks = max(each.tasks for each in scaled)
        largest = max(each.logical_partitions for each in scaled)
        wanted = wanted_tasks(rule, self.of(record.id), Now(tasks, record.scaled_at, time.time(), largest))
        return (tasks, wanted) if wanted != tasks else None
