"""What happens to a job, as events of the log: each once, with its component and batch."""

from __future__ import annotations

import time

from whorl.cli.live import query_line, step
from whorl.jobs.job import Job
from whorl.log import Logger, logger

_EVERY = 5.0


class Telling:
    """Looks at a job several times a second, and tells what is new."""

    def __init__(self, pipeline: str) -> None:
        self._log: Logger = logger(pipeline)
        self._state = ""
        self._batches: dict[str, int] = {}
        self._restarts: dict[str, int] = {}
        self._dead: dict[str, float] = {}
        self._progress_at = time.monotonic() + _EVERY

    def show(self, job: Job, news: list[tuple[str, str]]) -> None:
        """`news`: what was said of components meanwhile, and of the job where the component is empty."""
        if not self._state:
            for line in job.headlines():
                self._log.info("%s", line)
        if job.state.value != self._state:
            self._state = job.state.value
            self._log.info("%s", self._state)
        for component, text in news:
            self._log.warning("%s", text, component=component)
        self._tell_queries(job)
        self._tell_tasks(job)
        if time.monotonic() >= self._progress_at:
            self._progress_at = time.monotonic() + _EVERY
            self._tell_progress(job)

    def _tell_queries(self, job: Job) -> None:
        for id, query in job.queries.jobs.items():
            figures = query.figures
            if figures.batch > self._batches.get(id, -1):
                self._batches[id] = figures.batch
                text = "read %s, lag %s, %.0f ms"
                self._log.debug(text, figures.read, figures.lag, 1000 * figures.batch_seconds, component=id, batch=figures.batch)  # fmt: skip
            self._tell_counts(id, query.restarts, query.batches.dead, str(query.batches.raised or ""))

    def _tell_tasks(self, job: Job) -> None:
        for id, view in job.watch.components.items():
            self._tell_counts(id, len(view.failures), view.total("dead"), view.last_error if view.failures else "")

    def _tell_counts(self, id: str, restarts: int, dead: float, error: str) -> None:
        if restarts > self._restarts.get(id, 0):
            self._log.error("failed and starts again (%d so far): %s", restarts, error, component=id)
        if dead > self._dead.get(id, 0):
            self._log.warning("%d dead letters so far", dead, component=id)
        self._restarts[id], self._dead[id] = restarts, dead

    def _tell_progress(self, job: Job) -> None:
        for id, view in job.watch.components.items():
            read, written, lag = (view.total(name) for name in ("read", "written", "lag"))
            self._log.info("%s, read %d, written %d, lag %d", step(view), read, written, lag, component=id)
        for id, query in job.queries.jobs.items():
            batch = query.figures.batch
            self._log.info("%s", query_line(id, query).partition(": ")[2], component=id, batch=max(batch, 0))
