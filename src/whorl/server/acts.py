"""What people do to jobs. A wish is stored first, so it outlives the server; then an operation sees it through."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from whorl.errors import WorldError
from whorl.server import pipelines
from whorl.server.operations import Operations
from whorl.server.records import JobRecord, Wish
from whorl.server.schemas import JobStatus, Operation
from whorl.server.supervisor import Supervisor

_STARTS_WITHIN = 600.0
_LOOK = 0.1


class Acts:
    def __init__(self, supervisor: Supervisor, operations: Operations) -> None:
        self._supervisor, self._store, self._operations = supervisor, supervisor.store, operations

    def stop(self, record: JobRecord, savepoint: bool, name: str | None, timeout: float | None) -> Operation:
        self._refuse_ended(record, "stop")
        within = timeout or 2 * pipelines.settings_of(record).stop_timeout + 60
        runs = record.status is JobStatus.RUNNING
        self._wish(record, Wish.SAVE if savepoint and runs else Wish.STOP)
        if savepoint and runs:
            return self._operations.begin(record.id, "stop", lambda: self._save_and_stop(record, name, within))
        return self._operations.begin(record.id, "stop", lambda: self._ended(record, within))

    def _save_and_stop(self, record: JobRecord, name: str | None, within: float) -> dict[str, Any]:
        """A savepoint that fails leaves the job as it was."""
        until = time.monotonic() + within
        try:
            done = pipelines.ask(record, pipelines.savepoint_order(name, stop=True))
        except Exception:
            self._wish(record, Wish.RUN)
            raise
        self._note_savepoint(record, done)
        return {**self._ended(record, max(until - time.monotonic(), 10.0)), "savepoint": done}

    def _ended(self, record: JobRecord, within: float) -> dict[str, Any]:
        """After that it is ended without ceremony: it goes on from its last commit when it is resumed."""
        if not self._await(record, lambda now: not now.is_living, within):
            self._wish(record, Wish.CANCEL)
            what = f"job {record.id} did not stop within {within:g} s and is ended now"
            raise WorldError(what, hint="'resume' goes on from its last commit", code="stop-timeout")
        return {"status": self._now(record).status}

    def cancel(self, record: JobRecord) -> Operation:
        self._refuse_ended(record, "cancel")
        self._wish(record, Wish.CANCEL)
        return self._operations.begin(record.id, "cancel", lambda: self._ended(record, 120.0))

    def resume(self, record: JobRecord, savepoint: str | None) -> Operation:
        """From where it ended; or from a savepoint, of its own or a folder."""
        with self._supervisor.lock:
            record = self._now(record)
            if record.is_living:
                raise WorldError(f"job {record.id} is {record.status}", hint="stop it first", code="job-status")
            fresh = {"restarts": 0, "failures": [], "again_at": 0.0, "reason": "waits for its turn", "wanted": Wish.RUN}
            chosen = self._chosen(record, savepoint) if savepoint else ""
            self._store.put(record.moved(JobStatus.CREATED, resume_from=chosen, ended=None, **fresh))
        return self._operations.begin(record.id, "resume", lambda: self._runs(record))

    def _chosen(self, record: JobRecord, savepoint: str) -> str:
        return savepoint if "/" in savepoint else f"{record.pipeline}/{savepoint}"

    def _runs(self, record: JobRecord) -> dict[str, Any]:
        settled = (JobStatus.RUNNING, JobStatus.FAILED, JobStatus.SUSPENDED, JobStatus.CANCELED)
        self._await(record, lambda now: now.status in settled, _STARTS_WITHIN)
        now = self._now(record)
        if now.status is not JobStatus.RUNNING:
            raise WorldError(f"job {record.id} is {now.status}: {now.reason}", code="not-running")
        return {"status": now.status}

    def savepoint(self, record: JobRecord, name: str | None) -> Operation:
        return self._operations.begin(record.id, "savepoint", lambda: self._save(record, name))

    def _save(self, record: JobRecord, name: str | None) -> dict[str, Any]:
        order = pipelines.savepoint_order(name, stop=False)
        if self._now(record).is_living:
            done = pipelines.ask(record, order)
        else:
            done = pipelines.aside(record, order="savepoint", name=order.name)
        self._note_savepoint(record, done)
        return done

    def rescale(self, record: JobRecord, tasks: int, partitions: int, dry_run: bool) -> Operation:
        return self._operations.begin(record.id, "rescale", lambda: self._rescale(record, tasks, partitions, dry_run))

    def _rescale(self, record: JobRecord, tasks: int, partitions: int, dry_run: bool) -> dict[str, Any]:
        if dry_run:
            return pipelines.aside(record, order="foresee", tasks=tasks, partitions=partitions)
        if self._now(record).is_living:
            done = pipelines.ask(record, pipelines.rescale_order(tasks, partitions))
        else:
            done = pipelines.aside(record, order="rescale", tasks=tasks, partitions=partitions)
        if tasks:
            self._change(record, tasks=tasks)
        return done

    def autoscale(self, record: JobRecord, tasks: int) -> None:
        """Noted first, so that one that fails is not tried again at once."""
        self._change(record, scaled_at=time.time())
        self.rescale(record, tasks, 0, dry_run=False)

    def restart(self, record: JobRecord, component: str) -> Operation:
        self._refuse_ended(record, "restart")
        order = pipelines.again_order(component)
        return self._operations.begin(record.id, "restart", lambda: pipelines.ask(record, order))

    # -- with the store ---------------------------------------------------------------------------------------------------------------

    def _now(self, record: JobRecord) -> JobRecord:
        return self._store.job(record.id) or record

    def _change(self, record: JobRecord, **fields: Any) -> None:
        with self._supervisor.lock:
            self._store.put(self._now(record).changed(**fields))

    def _wish(self, record: JobRecord, wish: Wish) -> None:
        self._change(record, wanted=wish)

    def _note_savepoint(self, record: JobRecord, done: dict[str, Any]) -> None:
        self._change(record, savepoint=str(done.get("folder", "")))

    def _await(self, record: JobRecord, condition: Callable[[JobRecord], bool], within: float) -> bool:
        until = time.monotonic() + within
        while not (met := condition(self._now(record))) and time.monotonic() < until:
            time.sleep(_LOOK)
        return met

    def _refuse_ended(self, record: JobRecord, verb: str) -> None:
        if not record.is_living:
            what = f"job {record.id} is {record.status}: there is nothing to {verb}"
            raise WorldError(what, code="job-status")
