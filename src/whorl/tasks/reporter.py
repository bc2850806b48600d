"""A task's second thread: heartbeats out, orders in, and the watch over what the loop cannot see itself.

It ends the process when the task's parent is gone (an orphan must not work on) and when an operator does not return within `timeout`; in
both cases the open transaction is left to the successor, which fences it.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from whorl.kafka.clients import Clients
from whorl.operators.record import Message
from whorl.operators.stuck import running_operator
from whorl.state.timers import Timer
from whorl.tasks.assignment import Assignment
from whorl.tasks.clients import connections
from whorl.tasks.control import Address, OrderReader, Skip, Status, StatusWriter, Stop
from whorl.tasks.signals import Figures, Orders, timer_position

_LOOK = 0.1
ORPHANED, STUCK = 71, 72
"""Exit codes of the worker process."""


def is_of_spark(parent: int) -> bool:
    """Whether this process, a task's parent, is Spark's. One that started while its parent died was handed to another before it looked."""
    try:
        command = Path(f"/proc/{parent}/cmdline").read_bytes()
    except OSError:
        return parent != 1
    return b"pyspark" in command or b"java" in command


class Reporter:
    def __init__(self, assignment: Assignment, task: int, attempt: int, clients: Clients) -> None:
        self.orders, self.figures = Orders(), Figures()
        self._assignment, self._task, self._attempt = assignment, task, attempt
        self._clients = clients
        self._main = threading.main_thread().ident or 0
        self._parent = os.getppid()
        self._has_spark_parent = is_of_spark(self._parent)
        self._over = threading.Event()
        self._writer = StatusWriter(clients, assignment.pipeline)
        self._thread = threading.Thread(target=self._run, name="whorl-reporter", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self, state: str, error: str = "") -> None:
        """The last word of this attempt."""
        self._over.set()
        self._thread.join(5)
        self._say(state, error)
        self._writer.flush()

    def _run(self) -> None:
        assignment = self._assignment
        me = Address(assignment.pipeline, assignment.uid, assignment.component.id, assignment.layout.number)
        reader = OrderReader(self._clients, me)
        said_at, said = 0.0, (-1, "")
        since, seen = time.monotonic(), None
        while not self._over.is_set():
            self._take(reader)
            if os.getppid() != self._parent or not self._has_spark_parent:
                os._exit(ORPHANED)
            now = time.monotonic()
            news = (self.figures.commits, self.figures.step)
            if now - said_at >= assignment.settings.heartbeat or news != said:
                said_at, said = now, news
                self._say("running")
            if self.figures.current is None or self.figures.current is not seen:
                since, seen = now, self.figures.current
            elif now - since > assignment.settings.timeout:
                self._end_stuck(seen)
        reader.close()

    def _take(self, reader: OrderReader) -> None:
        order = reader.next(_LOOK)
        if isinstance(order, Stop):
            self.orders.stopping = True
        elif isinstance(order, Skip):
            self.orders.skip[(order.topic, order.partition, order.offset)] = order.operator

    def _end_stuck(self, message: Message) -> None:
        operator, place = running_operator(self._stack())
        if operator is None:
            return  # the loop itself waits, for the broker; that is no operator's fault
        timeout = self._assignment.settings.timeout
        position = (message.topic(), message.partition(), message.offset())
        if message.topic() is None:
            position = timer_position(Timer(message.timestamp()[1], operator, message.key() or b""))
        skip = {
            "topic": position[0],
            "partition": position[1],
            "offset": position[2],
            "operator": "" if self.figures.many else operator,
        }
        at = "/".join(map(str, position)) if message.topic() is not None else f"a timer of {message.timestamp()[1]}"
        error = f"{place}: operator '{operator}' did not return within {timeout:g} s on {at}, key {message.key()!r}"
        self._say("failed", error, skip)
        self._writer.flush()
        os._exit(STUCK)

    def _stack(self) -> FrameType | None:
        return sys._current_frames().get(self._main)

    def _say(self, state: str, error: str = "", stuck: Mapping[str, object] | None = None) -> None:
        assignment = self._assignment
        self.figures.connections = connections()
        self._writer.write(
            Status(
                uid=assignment.uid,
                component=assignment.component.id,
                layout=assignment.layout.number,
                task=self._task,
                attempt=self._attempt,
                host=platform.node(),
                pid=os.getpid(),
                state=state,
                at=time.time(),
                figures=self.figures.snapshot(),
                error=error,
                stuck=dict(stuck or {}),
            )
        )
