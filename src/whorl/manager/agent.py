"""A task manager: one process that asks the server for work, and serves one job at a time.

    idle --run--> at work --ended, and the server has noted it--> starts itself anew (code and settings of jobs never meet)

It goes on with its job while the server is away, and joins again with what it runs. When it hears that its job is somebody else's by now it
ends at once, whatever it is doing.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from whorl.errors import Unavailable, WhorlError
from whorl.manager.client import Server
from whorl.manager.load import Load
from whorl.server.bundles import unpack
from whorl.server.orders import Beat, Ended, Failed, Hello, Orders, Run
from whorl.server.schemas import LogLine, Report

T = TypeVar("T")
log = logging.getLogger("whorl.manager")
_MOST_LINES = 2000
_LAST_WORDS = 5
"""How often the end of a run that was dropped is told before it is given up: the server knows already."""


class Work(Protocol):
    def perform(self, order: Run, folder: Path, agent: Agent) -> Ended: ...
    def drop(self) -> None:
        """Ends what runs, at once; called from another thread."""


@dataclass
class Running:
    """What it does now, as far as the server is to know."""

    order: Run
    report: Report | None = None
    restored: bool = False
    ended: Ended | None = None
    moved_at: float | None = None
    """When its work moved last, of the steady clock; None while it need not."""


class Agent:
    def __init__(self, server: Server, id: str, slots: int, local: bool, command: Sequence[str]) -> None:
        """`command`: arguments of `whorl` with which it starts itself anew."""
        self.id, self._command = id, command
        self._server = server
        self.slots, self._local, self._since = slots, local, time.time()
        self._lines: deque[LogLine] = deque(maxlen=_MOST_LINES)
        self._load = Load()
        self._heartbeat = 1.0
        self.running: Running | None = None
        self.wants_to_stop = False
        self.wants_to_leave = False
        self._heard = threading.Condition()

    # -- the life of a task manager ---------------------------------------------------------------------------------------------------

    def await_order(self) -> Run | None:
        """None where it is to leave."""
        self._join()
        while not self.wants_to_leave:
            if order := self._idle():
                return order
        with suppress(WhorlError):
            self._server.leave(self.id)
        return None

    def serve(self, order: Run, work: Work) -> None:
        """One job; the heartbeat goes on beside the work."""
        self.running, self._work = Running(order), work
        beating = threading.Thread(target=self._beat_on, name="whorl-heartbeat", daemon=True)
        beating.start()
        with tempfile.TemporaryDirectory(prefix=f"whorl-{order.job}-") as folder:
            ended = self._perform(order, Path(folder))
            self.running.ended = self.running.ended or ended
            with self._heard:
                self._heard.notify_all()
            beating.join()

    def _perform(self, order: Run, folder: Path) -> Ended:
        try:
            unpack(self._patiently(lambda: self._server.bundle(order.job)), folder)
        except WhorlError as error:
            return Ended(how="failed", failed=Failed(error=error.message, code=error.code, hint=error.hint))
        return self._work.perform(order, folder, self)

    def restored(self) -> None:
        """Returns when the server has noted it: a savepoint must not be loaded twice."""
        assert self.running is not None
        self.running.restored = True
        with self._heard:
            while self.running.restored:
                self._heard.wait(1.0)

    def elsewhere(self) -> dict[str, str]:
        """Components that members have, as the server said last."""
        assert self.running is not None
        return self.running.order.elsewhere

    def moves(self) -> None:
        """To be told again and again from now on: silence means that it hangs."""
        if self.running is not None:
            self.running.moved_at = time.monotonic()

    def rests(self) -> None:
        """What it does now may take as long as it likes."""
        if self.running is not None:
            self.running.moved_at = None

    # -- talking ----------------------------------------------------------------------------------------------------------------------

    def _join(self) -> None:
        hello = Hello(
            id=self.id,
            host=platform.node(),
            pid=os.getpid(),
            slots=self.slots,
            local=self._local,
            since=self._since,
            run=self.running.order if self.running else None,
        )
        self._heartbeat = self._patiently(lambda: self._server.join(hello)).heartbeat

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Until the server answers; it may be away for as long as it likes."""
        while True:
            try:
                return ask()
            except Unavailable as away:
                log.warning("%s", away)
                time.sleep(self._heartbeat)

    def _idle(self) -> Run | None:
        began = time.monotonic()
        orders = self._tell(Beat(load=self._load.share()))
        if orders is None or orders.run is None:
            self.wants_to_leave = self.wants_to_leave or bool(orders and orders.leave)
            time.sleep(max(self._heartbeat - (time.monotonic() - began), 0.05))
        return orders.run if orders else None

    def _beat_on(self) -> None:
        running = self.running
        assert running is not None
        while True:
            began, beat = time.monotonic(), self._beat(running)
            orders = self._tell(beat)
            if orders is not None:
                self._told(running, beat)
                if self._take(orders, running, beat):
                    return
            with self._heard:
                if running.ended is beat.ended:
                    self._heard.wait(max(self._heartbeat - (time.monotonic() - began), 0.05))

    def _beat(self, running: Running) -> Beat:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        return Beat(
            job=running.order.job,
            attempt=running.order.attempt,
            report=running.report,
            restored=running.restored,
            ended=running.ended,
            lines=lines,
            load=self._load.share(),
            stalled=round(time.monotonic() - running.moved_at, 3) if running.moved_at is not None else 0.0,
        )

    def _tell(self, beat: Beat) -> Orders | None:
        """None where the server is away; what was to be told is told the next time."""
        try:
            orders = self._server.beat(self.id, beat)
            if not orders.known:
                self._join()
                orders = self._server.beat(self.id, beat)
            return orders
        except WhorlError as away:
            self._lines.extendleft(reversed(beat.lines))
            log.warning("%s", away)
            return None

    def _told(self, running: Running, beat: Beat) -> None:
        """What arrived is not told again."""
        if beat.report is not None and running.report is beat.report:
            running.report = beat.report.model_copy(update={"failures": []})

    def _take(self, orders: Orders, running: Running, beat: Beat) -> bool:
        """Whether all is said."""
        if orders.taken and beat.ended is not None:
            return True
        if orders.taken and running.restored:
            running.restored = False
            with self._heard:
                self._heard.notify_all()
        if orders.run is not None and orders.run.attempt == running.order.attempt:
            running.order = orders.run
        if orders.end == "stop":
            self.wants_to_stop = True
        if orders.end == "drop":
            self._drop(running)
        return False

    def _drop(self, running: Running) -> None:
        """The thread that works may hang, so this one starts the process anew."""
        log.warning("the server gave job %s away from this task manager: it ends here", running.order.job)
        self._work.drop()
        running.ended = running.ended or Ended(how="dropped")
        for _ in range(_LAST_WORDS):
            if (orders := self._tell(self._beat(running))) and orders.taken:
                break
            time.sleep(self._heartbeat)
        self.start_anew()

    def note(self, report: Report) -> None:
        """The newest; with the failures of those before it that were not told yet."""
        if self.running is not None:
            before = self.running.report.failures if self.running.report else []
            self.running.report = report.model_copy(update={"failures": [*before, *report.failures]})

    def say(self, level: str, message: str, component: str = "", batch: int | None = None) -> None:
        """A line of the job's log."""
        line = LogLine(
            number=0,
            at=time.time(),
            level=level,
            message=message,
            component=component,
            batch=batch,
            task_manager=self.id,
        )
        self._lines.append(line)

    def start_anew(self) -> None:
        """The same process, without anything of the job it served."""
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-m", "whorl", *self._command])
