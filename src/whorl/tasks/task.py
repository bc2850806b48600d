"""One long-running task: it owns some logical partitions of a component and moves their records from source to sink, exactly once.

The law: outputs, dead letters and source positions of the same records are in the same Kafka transaction, and no transaction begins before
the positions of the last committed one were read. Numbered as in docs/exactly-once.md, where the order is reasoned.

    2 join      init the task's own transactional id, and only then read the register: a task that lost its place sees it there
    3 restore   positions from the changelog, read committed to its end
    4 process   `whorl.tasks.run`: poll a bulk; each record whole or not at all; look at the clock between records
    5 commit    there too: positions and the group's offsets into the transaction, commit; a commit without an answer is repeated
    7 abort     drop everything in memory and go back to 3; also where an entry of state was found too large for the changelog: only when
                each record's own writes are measured, the one that made it can fail
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

from whorl.errors import PipelineError, Unavailable
from whorl.kafka.clients import Clients
from whorl.kafka.transactions import Aborted
from whorl.tasks.assignment import Assignment
from whorl.tasks.changelog import read_positions
from whorl.tasks.layout import Place
from whorl.tasks.loops import LoopRun, Undone
from whorl.tasks.outlet import Outlet
from whorl.tasks.readings import STATE, Reading
from whorl.tasks.register import refuse_outdated
from whorl.tasks.run import Given, Run
from whorl.tasks.signals import Figures, Orders
from whorl.tasks.sizes import Oversized
from whorl.tasks.states import States
from whorl.tasks.supersteps import SuperstepRun
from whorl.tasks.work import Work

_ABORTS_IN_A_ROW = 10


class Task:
    """Lives through many restores; `Run` is what lies between two of them."""

    def __init__(
        self,
        assignment: Assignment,
        number: int,
        clients: Clients,
        orders: Orders,
        figures: Figures,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.assignment = assignment
        self.number = number
        self.clients = clients
        self.orders = orders
        self.figures = figures
        self.clock, self.wall = clock, wall
        self._in_a_row = self._commits_seen = 0
        self._careful = False
        """Whether what each record keeps is measured, since there was too much at a commit once."""

    def run(self) -> None:
        """Until told to stop. Whatever ends it, no transaction of it stays open."""
        outlet = self._join()
        try:
            while not self.orders.stopping:
                self._run_once(outlet)
        finally:
            outlet.close()

    def _join(self) -> Outlet:
        """2. In this order a task of an older layout is either fenced by its successor or sees the newer layout."""
        self.figures.step = "joining"
        assignment = self.assignment
        smallest = min(assignment.limits.values())
        own_id = assignment.transactional_id(self.number)
        waiting = partial(setattr, self.figures, "trouble")
        outlet = Outlet(self.clients, own_id, assignment.settings, smallest, waiting, self.clock)
        outlet.transactions.init()
        refuse_outdated(self.clients, assignment)
        return outlet

    def _run_once(self, outlet: Outlet) -> None:
        work = Work(self.assignment)
        with ExitStack() as opened:
            states = None
            if work.keeps_state:
                states = States(self.assignment, self.number, self.clients, self.wall, work.publishing, self._careful)
                opened.enter_context(closing(states))
            self._run(self._kind()(self._given(), outlet, work, states, self._restore(states)), outlet)

    def _kind(self) -> type[Run]:
        component = self.assignment.component
        if component.has_supersteps:
            return SuperstepRun
        return LoopRun if component.in_loop else Run

    def _given(self) -> Given:
        own = (self.assignment, self.number, self.clients, self.orders, self.figures, self.clock, self.wall)
        return Given(*own, self.begin_reading)

    def _run(self, run: Run, outlet: Outlet) -> None:
        try:
            _loop(run)
        except Aborted as aborted:
            self._abort(outlet, aborted)
        except Oversized as oversized:
            if self._careful:
                raise oversized.error from None
            self._careful = True
            outlet.transactions.abort()
        except Undone as undone:
            raise undone.error from None
        finally:
            run.close()

    def _abort(self, outlet: Outlet, aborted: Aborted) -> None:
        """7. One that is followed by no commit, time after time, has a reason that going on does not cure."""
        outlet.transactions.abort()
        figures = self.figures
        self._in_a_row = self._in_a_row + 1 if figures.commits == self._commits_seen else 1
        self._commits_seen = figures.commits
        figures.restarts += 1
        if self._in_a_row >= _ABORTS_IN_A_ROW:
            raise Unavailable(
                f"transactions are aborted again and again: {aborted}", hint="the broker's log tells more"
            )

    def _restore(self, states: States | None) -> dict[Place, int]:
        """3. The positions this task goes on from."""
        self.figures.step = "restoring"
        assignment = self.assignment
        if states is None:
            stored = read_positions(self.clients, assignment.changelog, assignment.layout.lps_of(self.number))
        else:
            stored = states.restore(partial(self.begin_reading, STATE))
            self.figures.timers = states.waiting_for_time
        positions = {place: stored[place] for place in assignment.layout.places_of(self.number, assignment.read)}
        self.figures.committed = dict(positions)
        return positions

    def begin_reading(self, what: str, starts: Mapping[Any, int]) -> Reading:
        """What must be read before the first record is processed."""
        reading = self.figures.readings[what] = Reading(starts, self.clock, self.wall())
        return reading


def _loop(run: Run) -> None:
    try:
        run.loop()
    except PipelineError:
        run.commit()  # what went before the record that failed is done
        raise
