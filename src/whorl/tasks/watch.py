"""The driver's eyes: the last word of every task, and what follows from it.

Silence is counted in heartbeats of the driver itself that came back through the same topic, so a broker that is away makes nobody dead.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from whorl.config.settings import Restart
from whorl.tasks.control import Skip, Status
from whorl.tasks.layout import Place

DRIVER = "(driver)"
_SILENT_BEATS = 10
_FIRST_WORD_BEATS = 90


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
    failures: deque[float] = field(default_factory=deque)
    last_error: str = ""

    @property
    def positions(self) -> dict[Place, int]:
        return {place: at for task in self.tasks if task.status for place, at in task.status.positions.items()}

    def total(self, figure: str) -> float:
        return float(sum(task.status.figures[figure] for task in self.tasks if task.status))


class Watch:
    def __init__(self, restart: Restart) -> None:
        self.components: dict[str, ComponentView] = {}
        self._restart = restart

    def expect(self, component: str, layout: int, tasks: int) -> None:
        old = self.components.get(component)
        view = ComponentView(layout, [TaskView() for _ in range(tasks)])
        if old:
            view.failures, view.last_error = old.failures, old.last_error
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
        task = view.tasks[status.task]
        started_again = status.attempt > task.attempt and task.status is not None and task.status.state == "running"
        if status.state == "retrying" or status.stuck or started_again:
            view.failures.append(time.monotonic())
            view.last_error = status.error or view.last_error or "its Python worker died"
        task.status, task.missed, task.attempt = status, 0, status.attempt
        return Skip(**status.stuck) if status.stuck else None

    def has_failed(self) -> bool:
        """Whether a task ended for good with an error."""
        tasks = [task for view in self.components.values() for task in view.tasks]
        return any(
            task.status is not None and task.status.state == "failed" and not task.status.stuck for task in tasks
        )

    def given_up(self) -> tuple[str, ComponentView] | None:
        """A component that failed more often than its restart strategy allows."""
        allowed = 0 if self._restart.strategy == "none" else self._restart.attempts
        oldest = time.monotonic() - self._restart.window
        for component, view in self.components.items():
            while view.failures and view.failures[0] < oldest:
                view.failures.popleft()
            if len(view.failures) > allowed:
                return component, view
        return None
