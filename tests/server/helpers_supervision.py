"""A server, its task managers and a clock, in memory but for the store's file. The server may die at any change of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from whorl.errors import WorldError
from whorl.server.managers import Manager
from whorl.server.orders import Beat, Ended, Failed, Hello, Orders, Run
from whorl.server.records import Inspected, JobRecord, Part, Wish
from whorl.server.schemas import Component, ComponentStatus, Health, JobStatus, Report
from whorl.server.store import Store
from whorl.server.supervisor import Clock, Supervisor


class Died(Exception):
    """The server was killed."""


class DyingStore(Store):
    """Dies at its n-th change: just before it is there, or just after."""

    dies_at: tuple[int, str] | None = None
    changes = 0

    @contextmanager
    def _change(self) -> Iterator[Any]:
        DyingStore.changes += 1
        when = self.dies_at[1] if self.dies_at and self.dies_at[0] == DyingStore.changes else ""
        with super()._change() as sql:
            yield sql
            if when == "before":
                raise Died
        if when == "after":
            raise Died


@dataclass
class NoStarter:
    most: int = 0
    started: int = 0

    def may_start(self, known: Mapping[str, Manager]) -> int:
        return self.most - self.started

    def start(self, count: int) -> None:
        self.started += count

    def coming(self, known: Mapping[str, Manager]) -> int:
        return 0


@dataclass
class Sim:
    """A task manager: runs what it is told to, at once."""

    id: str
    slots: int = 8
    run: Run | None = None
    ended: Ended | None = None
    alive: bool = True
    hangs: bool = False
    joined: bool = False
    ran: list[tuple[str, int]] = field(default_factory=list)
    dropped: int = 0
    stalled: float = 0.0
    world: World | None = None

    def hello(self) -> Hello:
        return Hello(id=self.id, host="here", pid=1, slots=self.slots, since=0.0, run=self.run)

    def beat(self, server: Supervisor) -> None:
        if not self.joined:
            server.join(self.hello())
            self.joined = True
        orders = server.beat(self.id, self._beat())
        if not orders.known:
            server.join(self.hello())
            orders = server.beat(self.id, self._beat())
        self._take(orders)

    def _beat(self) -> Beat:
        if self.run is None:
            return Beat()
        run, report = self.run, self._report(self.run)
        return Beat(job=run.job, attempt=run.attempt, report=report, ended=self.ended, stalled=self.stalled)

    def _report(self, run: Run) -> Report:
        """The leader speaks for all: of its members it knows whether their tasks are at work."""
        assert self.world is not None
        if run.seat:
            return Report(at=0.0)
        parts = self.world.job(run.job).known.parts
        return Report(at=0.0, components=[self._component(part.id, run.elsewhere.get(part.id)) for part in parts])

    def _component(self, id: str, seat: str | None) -> Component:
        assert self.world is not None
        works = seat is None or any(sim.run and sim.run.seat == seat and sim.is_well for sim in self.world.sims)
        status, health = (
            (ComponentStatus.RUNNING, Health.OK) if works else (ComponentStatus.RESTARTING, Health.DEGRADED)
        )
        return Component(
            id=id, host="tasks", status=status, health=health, task_manager=self.id if seat is None else seat
        )

    @property
    def is_well(self) -> bool:
        return self.alive and not self.hangs and self.ended is None

    def _take(self, orders: Orders) -> None:
        if self.ended is not None:
            if orders.taken:
                self.run, self.ended, self.joined = None, None, False
        elif orders.end == "drop":
            self.dropped += 1
            self.ended = Ended(how="dropped")
        elif orders.end == "stop":
            self.ended = Ended(how="stopped")
        elif orders.run is not None and self.run is None:
            self.run = orders.run
            self.ran.append((orders.run.job, orders.run.attempt))
        elif orders.run is not None and self.run is not None and orders.run.attempt == self.run.attempt:
            self.run = orders.run

    def fails(self, error: str = "boom", helps: bool = True, code: str = "crash") -> None:
        self.ended = Ended(how="failed", failed=Failed(error=error, helps=helps, code=code))


class World:
    def __init__(self, folder: Path, managers: int = 2, dies_at: tuple[int, str] | None = None) -> None:
        self.path, self.now = folder / "jobs.db", 1000.0
        DyingStore.changes, DyingStore.dies_at = 0, dies_at
        self.log: list[tuple[str, str, str]] = []
        self.sims = [Sim(f"tm-{number}") for number in range(managers)]
        self.starter = NoStarter()
        self.deaths = 0
        self._step = 0
        self._start()

    def _start(self) -> None:
        """Also the start itself may be cut off; it is tried again."""
        store = DyingStore(self.path)
        store.take()
        clock = Clock(lambda: self.now, lambda: self.now)
        self.server = Supervisor(store, self.starter, lambda *said: self.log.append(said), heartbeat=1.0, clock=clock)

    def try_(self, act: Callable[[], object]) -> bool:
        """False where the server died of it, and lives again."""
        try:
            act()
            return True
        except Died:
            self.deaths += 1
            self.server.store.close()
            self._start()
            return False

    def step(self) -> None:
        """A quarter of a heartbeat."""
        self.now += 0.25
        self._step += 1
        self.try_(self.server.tick)
        for sim in self.sims:
            sim.world = self
            if sim.alive and not sim.hangs and self._step % 4 == 0:
                self.try_(lambda sim=sim: sim.beat(self.server))  # type: ignore[misc]
        self.check()

    def until(self, condition: Callable[[], bool], steps: int = 400) -> None:
        for _ in range(steps):
            if condition():
                return
            self.step()
        raise AssertionError(f"not within {steps} steps: {self.server.store.jobs()}")

    def check(self) -> None:
        """Nobody runs a newer start than the store knows, no two lead the same one, and no seat is taken twice."""
        for record in self.server.store.jobs():
            running = [sim for sim in self.sims if sim.run and sim.run.job == record.id and sim.ended is None]
            seats = [(sim.run.attempt, sim.run.seat) for sim in running if sim.run]
            assert len(set(seats)) == len(seats)
            assert all(sim.run.attempt <= record.attempt for sim in running if sim.run)

    # -- what people do; again, until it is there -------------------------------------------------------------------------------------

    def submit(self, id: str, **settings: Any) -> None:
        record = record_of(id, self.now, **settings)
        while self.server.store.job(id) is None:
            self.try_(lambda: self.server.store.add(record))

    def wish(self, id: str, wish: Wish) -> None:
        while self.job(id).wanted is not wish:
            self.try_(lambda: self.server.store.put(self.job(id).changed(wanted=wish)))

    def resume(self, id: str) -> None:
        while not self.job(id).is_living:
            fresh = self.job(id).moved(JobStatus.CREATED, wanted=Wish.RUN, failures=[], again_at=0.0)
            self.try_(lambda fresh=fresh: self.server.store.put(fresh))  # type: ignore[misc]

    def job(self, id: str) -> JobRecord:
        found = self.server.store.job(id)
        if found is None:
            raise WorldError(f"no job {id}")
        return found

    def is_(self, id: str, status: JobStatus) -> Callable[[], bool]:
        return lambda: self.job(id).status is status

    def runner(self, id: str) -> Sim:
        """Who leads it now."""
        return next(sim for sim in self.sims if sim.id == self.job(id).leader and sim.run and sim.run.job == id)

    def member(self, id: str) -> Sim:
        """Who has the part of it that the leader has not, there being two."""
        (other,) = set(self.job(id).task_managers) - {self.job(id).leader}
        return next(sim for sim in self.sims if sim.id == other)


def record_of(id: str, now: float = 0.0, parts: int = 1, **settings: Any) -> JobRecord:
    components = [Part(id="c" if number == 0 else f"c{number}", host="tasks", slots=2) for number in range(parts)]
    known = Inspected(pipeline=id, parts=components, settings=settings)
    return JobRecord(id=id, name=id, pipeline=id, file="p.yaml", bundle="b", known=known, created=now)


def told_with_a_death_at_every_change(story: Callable[[World], None], folder: Path, managers: int, when: str) -> int:
    """The story again and again, the server dying a change later each time, until it does not die in it; how many times that was."""
    for number in count(1):
        own = folder / str(number)
        own.mkdir()
        world = World(own, managers=managers, dies_at=(number, when))
        story(world)
        world.server.store.close()
        if world.deaths == 0:
            break
    assert DyingStore.changes < number
    return number
