"""What there is to tell of a job while it runs, in lines: for logs, where nobody looks at a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from whorl.jobs.job import Job


class Told(NamedTuple):
    level: str
    message: str
    component: str = ""
    batch: int | None = None
    """Of a query its batch, of tasks how often they have committed."""


class Progress:
    """How far each component is, now and then; nothing where nothing has moved."""

    def __init__(self, every: float = 10.0) -> None:
        self._every, self._again_at = every, 0.0
        self._before: dict[str, Told] = {}

    def lines(self, job: Job) -> Iterator[Told]:
        if time.monotonic() < self._again_at:
            return
        self._again_at = time.monotonic() + self._every
        for told in (*_tasks(job), *_queries(job)):
            if self._before.get(told.component) != told:
                self._before[told.component] = told
                yield told


def _tasks(job: Job) -> Iterator[Told]:
    for id, view in job.watch.components.items():
        read, written, dead, lag = (int(view.total(name)) for name in ("read", "written", "dead", "lag"))
        yield Told("INFO", _figures(read, written, dead, lag), id, int(view.total("commits")))


def _queries(job: Job) -> Iterator[Told]:
    for id, query in job.queries.jobs.items():
        figures = query.figures
        if figures.batch >= 0:
            message = _figures(figures.read, query.written, query.batches.dead, figures.lag)
            yield Told("INFO", message, id, figures.batch)


def _figures(read: int, written: int, dead: int, lag: int) -> str:
    return f"read {read:,}, written {written:,}, {dead:,} dead, lag {lag:,}"
