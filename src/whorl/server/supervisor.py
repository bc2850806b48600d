"""Brings every job to what is wanted of it: gives it to task managers, hears how it fares, starts it again or gives it up.

Each step is one change of the store, made before anybody is told of it, and telling is repeated until it is heard. So the server may die
between any two steps: the next one finds in the store what was decided, and hears from task managers what came of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from whorl.config.settings import Restart
from whorl.errors import WhorlError
from whorl.server.balancer import Candidate, Placement, Waits, place
from whorl.server.managers import MISSED, Manager, Managers
from whorl.server.orders import Beat, Ended, Failed, Hello, Orders, Welcome
from whorl.server.records import JobRecord, Wish
from whorl.server.schemas import ComponentStatus, Failure, JobStatus, Report
from whorl.server.seats import run_of, vouched
from whorl.server.store import Store
from whorl.server.strategy import again_after

_SILENT = ("task-manager-lost", "task-manager-hung")
"""Failures for which time has been lost already."""
Log = Callable[[str, str, str], None]
"""job, level, message"""


@dataclass(frozen=True)
class Clock:
    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


class Starter(Protocol):
    """Who starts task managers of the server's own."""

    def may_start(self, known: Mapping[str, Manager]) -> int:
        """How many more there may be."""

    def start(self, count: int) -> None: ...
    def coming(self, known: Mapping[str, Manager]) -> int:
        """Those that were started and have not joined yet."""


@dataclass
class Supervisor:
    store: Store
    starter: Starter
    log: Log
    heartbeat: float = 1.0
    idle_timeout: float = 60.0
    hang_timeout: float = 300.0
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.managers = Managers(self.heartbeat, self.clock.steady())
        self.trouble = ""
        """Why the last look at the jobs was broken off."""
        self.is_fenced = False
        """Another server has the store."""

    # -- what task managers say -------------------------------------------------------------------------------------------------------

    def join(self, hello: Hello) -> Welcome:
        with self.lock:
            self.managers.hello(hello, self.clock.steady())
        return Welcome(heartbeat=self.heartbeat, id=hello.id)

    def leave(self, id: str) -> None:
        with self.lock:
            if manager := self.managers.known.get(id):
                manager.heard = float("-inf")
                self.tick()
                self.managers.known.pop(id, None)

    def beat(self, id: str, beat: Beat) -> Orders:
        with self.lock:
            orders = self._orders(id, beat)
            if orders.end or orders.run:
                self.store.still_leads()  # one that was asleep must not give orders of yesterday
            return orders

    def _orders(self, id: str, beat: Beat) -> Orders:
        manager = self.managers.known.get(id)
        if manager is None:
            return Orders(known=False)
        manager.heard, manager.lost, manager.load = self.clock.steady(), False, beat.load
        if beat.ended is not None:
            return self._take_end(manager, beat, beat.ended)
        return self._take_report(manager, beat) if beat.job else self._give_work(manager)

    def _give_work(self, manager: Manager) -> Orders:
        manager.run, manager.report = None, None
        for record in self.store.jobs():
            if record.is_living and manager.id in record.task_managers:
                if record.wanted is Wish.RUN:
                    return Orders(run=run_of(record, manager.id))
                if record.is_led_by(manager.id):
                    self._over(record)
                break
        return Orders(leave=manager.leaving)

    def _take_report(self, manager: Manager, beat: Beat) -> Orders:
        record = self._current(manager, beat)
        if record is not None and beat.stalled > self.hang_timeout:
            self._gone(record, self._hung(manager, beat.stalled), manager.id)
            record = None
        if record is None:
            return Orders(end="drop")
        manager.run, manager.report, manager.idle_since = run_of(record, manager.id), beat.report, None
        if beat.restored and record.resume_from:
            record = self._put(record.changed(resume_from=""))
        if beat.report is not None:
            if beat.report.failures:
                self.store.add_failures(record.id, beat.report.failures)
            self._note_running(record)
        ends = {Wish.STOP: "stop" if record.is_led_by(manager.id) else "", Wish.CANCEL: "drop"}
        return Orders(end=ends.get(record.wanted, ""), taken=beat.restored, run=manager.run)

    def _note_running(self, record: JobRecord) -> None:
        if record.status is JobStatus.RUNNING or not self._all_run(record):
            return
        now = self.clock.wall()
        again = (
            f"runs again on {', '.join(record.task_managers)}, {now - record.lost_at:.1f} s after it was lost"
            if record.lost_at
            else ""
        )
        last_on = {component: id for id, components in record.task_managers.items() for component in components}
        self._put(
            record.moved(
                JobStatus.RUNNING, reason="", started=record.started or now, ended=None, lost_at=None, last_on=last_on
            )
        )
        self.log(record.id, "INFO", again or f"runs on {', '.join(record.task_managers)}")

    def _all_run(self, record: JobRecord) -> bool:
        said = {each.id: each.status for report in self.reports(record) for each in report.components}
        all_run = bool(said) and all(status is ComponentStatus.RUNNING for status in said.values())
        return all_run and record.is_placed and not self.silent(record)

    def reports(self, record: JobRecord) -> list[Report]:
        """What task managers that are alive and meant to run it said last."""
        managers = [self.managers.known.get(id) for id in record.task_managers]
        return [
            vouched(record, each.report)
            for each in managers
            if each and each.report and not each.lost and each.run and each.run.attempt == record.start_of(each.id)
        ]

    def silent(self, record: JobRecord) -> list[str]:
        """Task managers that are meant to run it, and were not heard for too long."""
        known = self.managers.known
        return [id for id in record.task_managers if id in known and known[id].lost]

    def _take_end(self, manager: Manager, beat: Beat, ended: Ended) -> Orders:
        """Told again until it is taken, so it may come twice."""
        record = self._current(manager, beat)
        if record is not None:
            if ended.how == "left" and (record.wanted is Wish.RUN or not record.is_led_by(manager.id)):
                self._move_on(record, manager.id)
            elif ended.how == "failed" or (ended.how == "superseded" and record.wanted is Wish.RUN):
                failed = ended.failed or Failed(error="it ended without a word")
                left = None if record.is_led_by(manager.id) else record.without(manager.id)
                self._failed(record, failed, manager.id, left)
            else:
                self._over(record, JobStatus.FINISHED if ended.how == "finished" else None)
        manager.run, manager.report, manager.returning = None, None, True
        return Orders(taken=True)

    def _current(self, manager: Manager, beat: Beat) -> JobRecord | None:
        """The job that it runs, if it is the one that should."""
        record = self.store.job(beat.job)
        is_meant = record is not None and record.is_living and record.start_of(manager.id) == beat.attempt
        return record if record is not None and is_meant and manager.id in record.task_managers else None

    # -- what follows -----------------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Looks at all jobs; called several times in a heartbeat."""
        with self.lock:
            self.managers.look(self.clock.steady())
            try:
                waiting = [record for record in self.store.jobs() if record.is_living and self._see_to(record)]
                self._place(waiting)
                self.trouble = ""
            except WhorlError as error:
                self.trouble = str(error)
                self.is_fenced = error.code == "fenced"
            self._let_idle_go()

    def _see_to(self, record: JobRecord) -> bool:
        """Whether it waits for task managers."""
        now = self.clock.steady()
        for id in record.task_managers:
            if self.managers.is_dead(id, now):
                self._gone(record, self._lost(id), id)
                return False
        if record.is_placed or any(id not in self.managers.known for id in record.task_managers):
            return False
        if record.wanted is not Wish.RUN:
            if not record.is_led:
                self._over(record)
            return False
        return self.clock.wall() >= record.again_at

    def _lost(self, id: str) -> Failed:
        manager = self.managers.known.get(id)
        where = f" (process {manager.hello.pid} on {manager.hello.host})" if manager else ""
        silent = f"nothing was heard of it for {MISSED} heartbeats"
        return Failed(error=f"task manager {id}{where} was lost: {silent}", code="task-manager-lost")

    def _hung(self, manager: Manager, seconds: float) -> Failed:
        where = f"(process {manager.hello.pid} on {manager.hello.host})"
        what = f"task manager {manager.id} {where} hangs: its work has not moved for {seconds:.0f} s"
        return Failed(error=what, code="task-manager-hung", hint="see 'whorl serve --hang-timeout'")

    def _gone(self, record: JobRecord, failed: Failed, manager: str) -> None:
        """What it had goes to another; what others have goes on, whoever leads."""
        self._failed(record, failed, manager, record.without(manager))

    def _failed(self, record: JobRecord, failed: Failed, manager: str, left: JobRecord | None = None) -> None:
        """`left`: it with what goes on of it."""
        now, restart = self.clock.wall(), Restart.model_validate(record.known.settings.get("restart", {}))
        after, counted = again_after(restart, record.failures, now)
        known = self.managers.known.get(manager)
        failure = Failure(
            at=now,
            component="",
            error=failed.error,
            where=failed.where,
            code=failed.code,
            hint=failed.hint,
            trace=failed.trace,
            host=known.hello.host if known else "",
            pid=known.hello.pid if known else None,
            task_manager=manager,
        )
        over = record.without(*record.task_managers)
        if record.wanted is not Wish.RUN:
            ended = left if left and left.is_led else self._ended_as(record).changed(reason=failed.error)
        elif after is None or not failed.helps:
            ended = over.moved(JobStatus.FAILED, reason=_why(failed, restart, counted), ended=now)
        else:
            ended = (left or over).moved(
                JobStatus.RESTARTING,
                reason=f"starts again: {failed.error}",
                restarts=record.restarts + 1,
                again_at=now + (0.0 if failed.code in _SILENT else after),
                lost_at=record.lost_at or now,
            )
        self._put(ended.changed(failures=counted), failure)
        self.log(record.id, "ERROR", f"{failed.error}; {ended.status}")

    def _move_on(self, record: JobRecord, manager: str) -> None:
        """Its task manager was told to end: no failure, but another must take what it had."""
        reason = f"starts again: task manager {manager} has left"
        now = self.clock.wall()
        self._put(record.without(manager).moved(JobStatus.RESTARTING, reason=reason, again_at=now, lost_at=now))
        self.log(record.id, "INFO", reason)

    def _over(self, record: JobRecord, status: JobStatus | None = None) -> None:
        ended = self._ended_as(record, status)
        self._put(ended)
        self.log(record.id, "INFO", f"ended: {ended.status}")

    def _ended_as(self, record: JobRecord, status: JobStatus | None = None) -> JobRecord:
        status = status or (JobStatus.CANCELED if record.wanted is Wish.CANCEL else JobStatus.SUSPENDED)
        over = record.without(*record.task_managers)
        return over.moved(status, reason="", ended=self.clock.wall(), lost_at=None)

    def _put(self, record: JobRecord, *failures: Failure) -> JobRecord:
        self.store.put(record, *failures)
        return record

    # -- placing ----------------------------------------------------------------------------------------------------------------------

    def _place(self, waiting: list[JobRecord]) -> None:
        """Those that ran before come first, then who has waited longest."""
        taken = {id for record in self.store.jobs() if record.is_living for id in record.task_managers}
        idle = {each.id: each for each in self.managers.idle() if each.id not in taken}
        coming, more = self.starter.coming(self.managers.known), self.starter.may_start(self.managers.known)
        coming += self.managers.returning()
        short = 0
        for record in sorted(waiting, key=lambda each: (each.status is JobStatus.CREATED, each.created)):
            own = [self.managers.known[id] for id in record.task_managers]
            candidates = [Candidate(each.id, each.hello.slots, each.load) for each in (*own, *idle.values())]
            found = place(
                record.known.parts,
                candidates,
                record.task_managers,
                record.last_on,
                record.spread,
                coming + more > 0,
                record.leader,
            )
            if isinstance(found, Waits):
                short += found.missing
                self._wait(record, found.reason, coming + more > 0)
                taken = set(found.reserved)
            else:
                self._give(record, found)
                taken = set(found)
            idle = {id: each for id, each in idle.items() if id not in taken}
        if short > coming + len(idle):
            self.starter.start(min(short - coming - len(idle), more))

    def _wait(self, record: JobRecord, reason: str, more: bool) -> None:
        busy = [each for each in self.managers.known.values() if each.run is not None and not each.lost]
        if more:
            reason = "waits for a task manager to start"
        elif not reason.startswith("needs") and busy:
            names = sorted({run.pipeline for each in busy if (run := each.run)})
            some = ", ".join(f"'{name}'" for name in names[:3]) + (" and others" if len(names) > 3 else "")
            reason = f"waits for a task manager: all {len(busy)} are busy, with {some}"
        if record.status is JobStatus.CREATED and record.reason != reason:
            self._put(record.changed(reason=reason))
        elif record.task_managers and not record.is_led and not more:
            # Its members come back as task managers, one of which may lead.
            self._put(record.without(*record.task_managers))

    def _give(self, record: JobRecord, found: Placement) -> None:
        attempt = record.attempt + 1
        starts = {id: record.start_of(id) if id in record.task_managers else attempt for id in found}
        given = record.changed(attempt=attempt, task_managers=found, starts=starts, leader=next(iter(found)))
        if record.status is JobStatus.CREATED:
            given = given.changed(reason=f"starts on {', '.join(found)}")
        self._put(given)
        new = [id for id, ids in found.items() if record.task_managers.get(id) != ids]
        self.log(record.id, "INFO", f"start {attempt}: given to {', '.join(new)}")

    def _let_idle_go(self) -> None:
        now = self.clock.steady()
        for manager in self.managers.idle():
            if manager.hello.local and manager.idle_since and now - manager.idle_since > self.idle_timeout:
                manager.leaving = not any(manager.id in record.task_managers for record in self.store.jobs())


def _why(failed: Failed, restart: Restart, counted: list[float]) -> str:
    if not failed.helps or restart.strategy == "none":
        return failed.error
    return f"{failed.error} (failed {len(counted)} times within {restart.window:g} s)"
