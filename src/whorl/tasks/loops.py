"""As `whorl.tasks.run`, for a component that is in a loop.

4 process   what goes round is taken before what comes from outside. A message to a logical partition of this task waits in the inbox, and is
            processed at once, in the same transaction, until the inbox is empty or the time for a commit has come
5 commit    what is left in the inbox goes to the topic, so that nothing is in memory alone over a commit; at once, where what was sent goes
            round by others, so that a round takes milliseconds
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from whorl.errors import OperatorFailed, PipelineError
from whorl.operators.chain import StepFailed
from whorl.operators.record import round_of
from whorl.state.partition import LpState
from whorl.state.timers import Kind
from whorl.tasks.failures import as_error
from whorl.tasks.inbox import Inbox
from whorl.tasks.layout import Place
from whorl.tasks.outlet import Outlet
from whorl.tasks.returned import Returned
from whorl.tasks.run import Given, Run
from whorl.tasks.states import States
from whorl.tasks.work import Work


class Undone(Exception):
    """User code failed where what it has left in memory cannot be undone: nothing since the last commit is kept."""

    def __init__(self, error: OperatorFailed) -> None:
        super().__init__(error)
        self.error = error


class LoopRun(Run):
    def __init__(
        self, task: Given, outlet: Outlet, work: Work, states: States | None, positions: dict[Place, int]
    ) -> None:
        super().__init__(task, outlet, work, states, positions)
        component = task.assignment.component
        back = {input.topic for input in component.feedback}
        self._round_topics = {input.topic for input in component.inputs if input.goes_round}
        self._sent_topics = {output.topic for output in component.outputs if output.rounds != "none"}
        self._returning = {output.topic for output in component.outputs if output.rounds == "next"}
        own = {place for place in positions if place[0] in back}
        self._inbox = Inbox(own, task.orders, work.combiners)
        self._hurries = False
        self._keys: set[Any] = set()

    # -- 4 process --------------------------------------------------------------------------------------------------------------------

    def _wait(self) -> float:
        return 0.0 if self._hurries else super()._wait()

    def _sorted(self, messages: list[Any]) -> tuple[dict[Place, list[Any]], dict[Place, int]]:
        places, ends = super()._sorted(messages)
        for place in places:
            if place[0] in self._round_topics:
                self._note_round(places[place])
        return places, ends

    def _tables_first(self, places: Collection[Place]) -> Iterable[Place]:
        order = [self._tables, self._round_topics]
        return sorted(places, key=lambda place: [place[0] not in topics for topics in order])

    def _process(self, place: Place, messages: list[Any]) -> None:
        super()._process(place, messages)
        if place in self._held:
            self._inbox.hold(place)
        else:
            self._inbox.read_back(place, messages)
        self._turn()

    def _reached(self, place: Place, end: int) -> None:
        super()._reached(place, end)
        if place not in self._held:
            self._inbox.reached(place)

    def _as_bulk(self, place: Place, messages: list[Any]) -> bool:
        done = super()._as_bulk(place, messages)
        if done:
            self._run_waiting_programs()
        return done

    def _one_by_one(self, place: Place, messages: list[Any]) -> None:
        super()._one_by_one(place, messages)
        self._run_waiting_programs()

    def _run_waiting_programs(self) -> None:
        """What waits for them is of the logical partition that was entered last: they run before another one is, and before a commit."""
        if self._work.has_programs:
            self._run_programs()

    def _run_programs(self) -> None:
        before, self._figures.many = self._figures.many, True
        try:
            self._work.whole(lambda _: self._work.run_programs())(None)
        except StepFailed as failed:
            raise Undone(as_error(failed)) from None
        self._figures.many = before

    def _fire(self, state: LpState, kind: Kind, up_to: int) -> None:
        super()._fire(state, kind, up_to)
        self._run_waiting_programs()
        self._send()

    def _note_round(self, messages: Iterable[Any]) -> None:
        figures, keys = self._figures, self._keys
        for message in messages:
            figures.round = max(figures.round, round_of(message))
            figures.messages += 1
            keys.add(message.key() or message.partition())

    # -- the inbox --------------------------------------------------------------------------------------------------------------------

    def _send(self) -> None:
        """What leads back to this task stays here, as long as it may."""
        entries, returning = self._work.take(), self._returning
        self._outlet.produce([entry for entry in entries if entry[0] not in returning])
        back = [entry for entry in entries if entry[0] in returning]
        try:
            away = [entry for entry in back if not self._inbox.take(entry)]
        except Exception as error:  # of a user's combiner
            raise Undone(as_error(StepFailed("combine", error))) from error
        self._figures.sent += self._inbox.sent
        self._inbox.sent = 0
        sent = any(entry[0] in self._sent_topics for entry in entries if entry[0] not in returning)
        self._hurries = self._hurries or bool(away) or sent or self._inbox.is_to_send
        self._outlet.produce_inside(self._inbox.sealed(away))

    def _turn(self) -> None:
        """Until nothing more is in the inbox, or a commit is due."""
        while (waiting := self._inbox.next()) is not None:
            place, messages = waiting
            self._begin()
            if self._clock() >= self._break_at:
                self._inbox.put_back(place, messages)
                return self.commit()
            self._process_returned(place, messages)

    def _process_returned(self, place: Place, messages: list[Returned]) -> None:
        if self._states is not None:
            self._work.enter(self._states[self._assignment.layout.lp_of(place[1])])
        done = 0
        try:
            done = len(messages) if self._all_returned(place, messages) else self._each_returned(place, messages)
        except PipelineError:
            self._inbox.put_back(place, messages[self._tried :])
            raise
        self._inbox.put_back(place, messages[done:])
        self._note_round(messages[:done])
        self._figures.current = None
        self._uncommitted += done
        self._send()
        if self._uncommitted >= self._settings.commit_records:
            self.commit()

    def _all_returned(self, place: Place, messages: list[Returned]) -> bool:
        """As `_as_bulk`."""
        together, self._tried = self._work.together.get(place[0]), 0
        if together is None:
            return False
        self._figures.current, self._figures.many = messages[0], len(messages) > 1
        try:
            self._work.whole(together)(messages)
        except StepFailed:
            return False
        self._run_waiting_programs()
        return True

    def _each_returned(self, place: Place, messages: list[Returned]) -> int:
        """How many were processed; what must wait is sent to the topic, where it can be held."""
        attempt, clock, event_time = self._attempt(place[0]), self._clock, bool(self._work.event_times)
        self._figures.many = False
        for index, message in enumerate(messages):
            self._figures.current, self._tried = message, index
            try:
                attempt(message)
            except StepFailed as failed:
                verdict = self._failures.judge(message, failed)
                if verdict.letter is not None:
                    self._work.journal.append(verdict.letter)
                if verdict.hold is not None:
                    self._spill(self._inbox.spilled_of(place, messages[index:]))
                    self._run_waiting_programs()
                    return len(messages)
            if event_time:
                self._fire_overdue(place)
            if clock() >= self._break_at and not self._work.has_programs:
                return index + 1
        self._run_waiting_programs()
        return len(messages)

    # -- 5 commit ---------------------------------------------------------------------------------------------------------------------

    def _commit_if_due(self) -> None:
        self._turn()
        if self._clock() >= self._mirror_at:
            self._mirror_anew()
        if self._clock() >= self._commit_at or (self._hurries and not self._is_behind):
            self.commit()

    def commit(self) -> None:
        if self._transactions.open:
            self._run_waiting_programs()
            self._send()
            self._spill(self._inbox.spilled())
        super().commit()
        self._hurries = False
        self._figures.active = len(self._keys)
        self._keys.clear()

    def _spill(self, entries: list[Any]) -> None:
        self._hurries = self._hurries or bool(entries)
        self._outlet.produce_inside(entries)
