"""One life of a pipeline's process: its driver, then its tasks one after another until all is read. No thread, no real time.

The driver's protocol and the task's loop are those that run on Spark; only the clients are the memory broker's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from whorl.errors import OperatorFailed, WorldError
from whorl.operators.chain import StepFailed
from whorl.operators.places import user_place
from whorl.plan.plan import Component
from whorl.tasks.driver import Driver
from whorl.tasks.layout import Layout
from whorl.tasks.signals import Figures, Orders
from whorl.tasks.task import Task
from whorl.testing.clock import ManualClock
from whorl.testing.ground import Ground
from whorl.testing.memory import Faults, MemoryBroker, MemoryClients

_LONGEST = 3600.0
_PATIENCE = 0.25
"""More than a commit takes to become due."""


class Process:
    def __init__(self, ground: Ground, clock: ManualClock, faults: Faults) -> None:
        self.clients = MemoryClients(ground.broker, faults)
        self._ground = ground
        self._clock = clock
        self._driver: Driver | None = None
        self._layouts: dict[str, Layout] = {}

    def start(self, fresh: bool = False) -> None:
        """Takes the pipeline over and lays it out anew: whoever worked on it before is fenced. `fresh` forgets its positions."""
        self._driver = Driver(self.clients, self._ground.plan.pipeline)
        if fresh:
            self._driver.start_over()
        self._ground.make_changelogs(self._driver.registration.uid)
        self._layouts = self._driver.lay_out(self._ground.wanted())

    def work(self) -> None:
        """Every component in the order records flow, round and round until no one has anything left to read."""
        todo = list(self._ground.plan.components)
        while todo:
            for component in todo:
                self.work_on(component)
            todo = [component for component in self._ground.plan.components if not self._is_done(component)]

    def work_on(self, component: Component) -> None:
        for number in range(self._layouts[component.id].tasks):
            self._run(component, number)

    def attempt(self, faults: Faults) -> Process:
        """The same tasks once more beside the first ones, as Spark starts them when it takes those for dead."""
        again = Process(self._ground, self._clock, faults)
        again._driver, again._layouts = self._driver, self._layouts
        return again

    def end(self) -> None:
        assert self._driver is not None
        self._driver.release()

    def task(self, component: Component, number: int, orders: Orders, figures: Figures) -> Task:
        assert self._driver is not None
        assignment = self._ground.assignment(component, self._driver.registration.uid, self._layouts[component.id])
        return Task(assignment, number, self.clients, orders, figures, self._clock, self._clock)

    def _run(self, component: Component, number: int) -> None:
        orders, figures = Orders(), Figures()
        task = self.task(component, number, orders, figures)
        places = task.assignment.layout.places_of(number, task.assignment.read)
        last = self._clock() + _LONGEST

        waited_for = _Patience(self._clock)

        def look(timeout: float) -> None:
            self._clock.wait(timeout)
            ends = self._ground.ends(component)
            orders.stopping = all(figures.committed.get(place, -1) >= ends[place] for place in places)
            if component.has_supersteps and not orders.stopping:
                orders.stopping = waited_for(figures.commits)  # for other tasks, which come next
            if self._clock() > last:
                raise WorldError(
                    f"component '{component.id}' still waits after an hour", hint="does an operator always raise Retry?"
                )

        with _when_idle(self._ground.broker, look):
            try:
                task.run()
            except StepFailed as failed:  # before any record: an operator that could not be made, opened or closed
                error = f"{type(failed.cause).__name__}: {failed.cause}"
                raise OperatorFailed(failed.operator, error, place=user_place(failed.cause)) from failed.cause

    def _is_done(self, component: Component) -> bool:
        committed = self._ground.broker.offsets(component.group)
        ends = self._ground.ends(component)
        return all(committed.get(place, end) >= end for place, end in ends.items())


class _Patience:
    """Whether a task has done nothing for a while."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._commits, self._since = clock, -1, clock()

    def __call__(self, commits: int) -> bool:
        if commits != self._commits:
            self._commits, self._since = commits, self._clock()
        return self._clock() - self._since > _PATIENCE


@contextmanager
def _when_idle(broker: MemoryBroker, look: Callable[[float], None]) -> Iterator[None]:
    before, broker.idle = broker.idle, look
    try:
        yield
    finally:
        broker.idle = before
