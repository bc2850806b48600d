"""The driver's eyes: the last word of every task, and what follows from it.

Silence is counted in heartbeats of the driver itself that came back through the same topic, so a broker that is away makes nobody dead.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from whorl.config.settings import Restart
from whorl.histogram import percentiles, together
from whorl.tasks.control import DRIVER, Skip, Status
from whorl.tasks.layout import Place
from whorl.tasks.readings import STATE, TABLES, Progress

_SILENT_BEATS = 10
_FIRST_WORD_BEATS = 90
_BEFORE_STATE = ("starting", "joining", "restoring")
_BEFORE = {STATE: _BEFORE_STATE, TABLES: (*_BEFORE_STATE, "bootstrapping")}
"""Steps of a task that has not read all of it yet."""

Mark = tuple[int, float]
"""Tells one reading of a task from others: its number, and since when."""


@dataclass(frozen=True)
class TaskFailure:
    """One failure of a task, for people."""

    at: float
    task: int
    error: str
    host: str = ""
    pid: int | None = None


@dataclass
class TaskView:
    """One task of the layout in force."""

    status: Status | None = None
    missed: int = 0
    attempt: int = 0

    @property
    def is_hung(self) -> bool:
        at_work = self.status is not None and self.status.state == "running"
        return self.missed > (_SILENT_BEATS if at_work else _FIRST_WORD_BEATS)

    @property
    def has_ended(self) -> bool:
        return self.status is not None and self.status.state in ("ended", "failed")


@dataclass
class ComponentView:
    layout: int
    tasks: list[TaskView]
    standbys: list[TaskView] = field(default_factory=list)
    """They are shown, and count for nothing: neither in figures nor in failures."""
    failures: deque[tuple[float, int]] = field(default_factory=deque)
    """When, and which task."""
    last_error: str = ""
    told: list[TaskFailure] = field(default_factory=list)
    """All failures so far, oldest first."""

    @property
    def positions(self) -> dict[Place, int]:
        return {place: at for task in self.tasks if task.status for place, at in task.status.positions.items()}

    @property
    def following(self) -> int:
        """Standbys that do what they are there for."""
        return sum(one.status is not None and one.status.figures["step"] == "following" for one in self.standbys)

    def note_failure(self, task: int, error: str) -> None:
        self.failures.append((time.monotonic(), task))
        self.last_error = error
        status = self.tasks[task].status
        where = (status.host, status.pid) if status else ("", None)
        self.told.append(TaskFailure(time.time(), task, error, *where))

    def note_hung(self) -> bool:
        """Whether a task has fallen silent; counts as a failure of it."""
        hung = [number for number, task in enumerate(self.tasks) if task.is_hung]
        for number in hung:
            self.note_failure(number, "a task fell silent: its code holds the interpreter, or its machine is gone")
        return bool(hung)

    @property
    def is_silent(self) -> bool:
        """Whether none of its tasks has said anything yet."""
        return not any(task.status for task in self.tasks)

    @property
    def steps(self) -> set[str]:
        return {task.status.figures["step"] if task.status else "starting" for task in self.tasks}

    def readings(self, what: str, without: Collection[Mark] = ()) -> dict[Mark, Mapping[str, Any]]:
        """What each task reads, or has read last, before its first record."""
        said = [(n, task.status.figures["readings"]) for n, task in enumerate(self.tasks) if task.status]
        found = {(n, readings[what]["since"]): readings[what] for n, readings in said if what in readings}
        return {mark: reading for mark, reading in found.items() if mark not in without}

    def progress(self, what: str, without: Collection[Mark] = ()) -> Progress:
        """Of all tasks together; over when none of them has it before it."""
        progress = Progress.of(self.readings(what, without).values())
        return replace(progress, over=progress.over and not self.steps.intersection(_BEFORE[what]))

    @property
    def trouble(self) -> str:
        """What one of its tasks waits for, if any does."""
        said = (task.status.figures.get("trouble", "") for task in self.tasks if task.status)
        return next(filter(None, said), "")

    @property
    def gaps(self) -> list[str]:
        """What its tasks have said of records that are gone."""
        return [told for task in self.tasks if task.status for told in task.status.figures.get("gaps", ())]

    @property
    def watermark(self) -> int | None:
        """Of the task that is furthest behind, of those that have one."""
        said = (task.status.figures.get("watermark") for task in self.tasks if task.status)
        return min((time for time in said if time is not None), default=None)

    def most(self, figure: str) -> int:
        """The highest of any task."""
        return max((task.status.figures[figure] for task in self.tasks if task.status), default=0)

    @property
    def latency_ms(self) -> dict[str, float]:
        """p50, p95 and p99 of the last seconds, from a record's timestamp to its commit."""
        said = [task.status.figures.get("latency", {}) for task in self.tasks if task.status]
        return percentiles(together({int(bucket): count for bucket, count in each.items()} for each in said))

    @property
    def connections(self) -> dict[str, int]:
        """Clients of Kafka that its tasks have open, and have opened, together."""
        total: Counter[str] = Counter()
        for task in self.tasks:
            total.update(task.status.figures.get("connections", {}) if task.status else {})
        return dict(total)

    def total(self, figure: str) -> float:
        return float(sum(task.status.figures[figure] for task in self.tasks if task.status))


class Watch:
    def __init__(self, restart: Restart) -> None:
        self.components: dict[str, ComponentView] = {}
        self._restart = restart

    def expect(self, component: str, layout: int, tasks: int, standbys: int = 0) -> None:
        old = self.components.get(component)
        view = ComponentView(layout, [TaskView() for _ in range(tasks)], [TaskView() for _ in range(standbys)])
        if old:
            view.failures, view.last_error, view.told = old.failures, old.last_error, old.told
        self.components[component] = view

    def take(self, news: Iterable[Status]) -> list[Skip]:
        """Notes the news; gives back the orders to skip that tasks which hung on a record asked for."""
        skips = []
        for status in news:
            if status.component == DRIVER:
                self._beat()
            elif skip := self._note(status):
                skips.append(skip)
        return skips

    def _beat(self) -> None:
        for view in self.components.values():
            for task in view.tasks:
                task.missed += not task.has_ended

    def _note(self, status: Status) -> Skip | None:
        view = self.components.get(status.component)
        if view is None or view.layout != status.layout:
            return None
        if status.task >= len(view.tasks):
            view.standbys[status.task - len(view.tasks)].status = status
            return None
        task = view.tasks[status.task]
        started_again = status.attempt > task.attempt and task.status is not None and task.status.state == "running"
        if status.state == "retrying" or status.stuck or started_again:
            view.note_failure(status.task, status.error or view.last_error or "its Python worker died")
        task.status, task.missed, task.attempt = status, 0, status.attempt
        return Skip(**status.stuck) if status.stuck else None

    def failure(self) -> str:
        """What a task said that ended for good with an error."""
        said = [task.status for view in self.components.values() for task in view.tasks if task.status is not None]
        return next((status.error for status in said if status.state == "failed" and not status.stuck), "")

    def given_up(self) -> tuple[str, ComponentView] | None:
        """A component one task of which failed more often than the restart strategy allows."""
        allowed = 0 if self._restart.strategy == "none" else self._restart.attempts
        oldest = time.monotonic() - self._restart.window
        for component, view in self.components.items():
            while view.failures and view.failures[0][0] < oldest:
                view.failures.popleft()
            by_task = Counter(task for _, task in view.failures)  # one incident may strike all tasks at once
            if max(by_task.values(), default=0) > allowed:
                return component, view
        return None
