"""The task managers that the server knows: each as it was when it last said a word. Nothing of it is stored: they come again by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

from whorl.server.orders import Hello, Run
from whorl.server.schemas import Report, TaskManagerSaid

MISSED = 3
"""Heartbeats in a row after which a task manager is dead."""


@dataclass
class Manager:
    hello: Hello
    heard: float
    """Of the steady clock."""
    run: Run | None = None
    report: Report | None = None
    load: float = 0.0
    lost: bool = False
    leaving: bool = False
    returning: bool = False
    """It starts itself anew after a job, and will say hello."""
    idle_since: float | None = None

    @property
    def id(self) -> str:
        return self.hello.id

    @property
    def is_idle(self) -> bool:
        return self.run is None and not self.lost and not self.leaving and not self.returning


@dataclass
class Managers:
    heartbeat: float
    started: float
    known: dict[str, Manager] = field(default_factory=dict)
    _looked: float = 0.0

    def hello(self, hello: Hello, now: float) -> Manager:
        manager = Manager(hello, now, hello.run, idle_since=None if hello.run else now)
        self.known[hello.id] = manager
        return manager

    def look(self, now: float) -> None:
        """Who is silent for too long is lost. A server that was itself asleep makes nobody dead."""
        asleep = now - self._looked - self.heartbeat if self._looked else 0.0
        self._looked = now
        for manager in list(self.known.values()):
            manager.heard += max(asleep, 0.0)
            manager.lost = now - manager.heard > MISSED * self.heartbeat
            if manager.lost and now - manager.heard > 60 + MISSED * self.heartbeat:
                del self.known[manager.id]
        self.started += max(asleep, 0.0)

    def is_dead(self, id: str, now: float) -> bool:
        """One that is not known may not have heard yet that this server is here: it gets the time that a restart takes it."""
        manager = self.known.get(id)
        if manager is None:
            return now - self.started > (MISSED + 2) * self.heartbeat
        return manager.lost

    def idle(self) -> list[Manager]:
        return [manager for manager in self.known.values() if manager.is_idle]

    def returning(self) -> int:
        return sum(manager.returning and not manager.lost for manager in self.known.values())

    def said(self, now: float, components: dict[str, list[str]]) -> list[TaskManagerSaid]:
        return [self._said(manager, now, components.get(manager.id, [])) for manager in self.known.values()]

    def _said(self, manager: Manager, now: float, components: list[str]) -> TaskManagerSaid:
        hello, run = manager.hello, manager.run
        status = (
            "lost" if manager.lost else "leaving" if manager.leaving else "busy" if run or manager.returning else "idle"
        )
        return TaskManagerSaid(
            id=hello.id,
            host=hello.host,
            pid=hello.pid,
            slots=hello.slots,
            status=status,
            job=run.job if run else "",
            components=components if run else [],
            since=hello.since,
            heartbeat_age=round(now - manager.heard, 3),
            load=manager.load,
            local=hello.local,
        )
