"""As `whorl.tasks.loops`, round by round: what was sent in one superstep is processed in the next, when the one before has ended everywhere.

A logical partition (lp) ends its superstep with a marker to every lp, which says how much it has sent and what it has aggregated. What has
come for a superstep waits in memory until all markers of the one before are there; until then the position stays before it, so that whoever
starts over reads it again. When a superstep ends in which nobody has sent anything, all is at rest, until a record comes from outside or
another lp begins.

What waits from outside has a bound, so that a superstep, which is one transaction, has one.

The law: a message is processed in the superstep behind the one in which it was sent, once; and what an lp knows of aggregates is what all lps
have aggregated in the superstep before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from whorl.errors import OperatorFailed
from whorl.operators.chain import StepFailed
from whorl.operators.keyed import combined
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.record import SUPERSTEP, Message
from whorl.sinks.kafka import Entry
from whorl.state import codec
from whorl.state.partition import LpState
from whorl.state.table import Table
from whorl.state.timers import Kind
from whorl.tasks.failures import Verdict, as_error
from whorl.tasks.layout import Place
from whorl.tasks.loops import LoopRun, Undone
from whorl.tasks.outlet import Outlet
from whorl.tasks.run import Given
from whorl.tasks.states import States
from whorl.tasks.work import Work

MARKER = "whorl-marker"
_KEY = b""


@dataclass(frozen=True)
class Marker:
    """What an lp says at the end of a superstep."""

    sent: int
    aggregates: dict[str, Any]

    def entry(self, topic: str, partition: int, superstep: int, lp: int) -> Entry:
        value = orjson.dumps({"lp": lp, "sent": self.sent, "aggregates": self.aggregates})
        headers = [(SUPERSTEP, b"%d" % superstep), (MARKER, b"%d" % lp)]
        return (topic, value, None, partition, None, None, 0, headers)


@dataclass
class Lp:
    """How far an lp is."""

    number: int
    done: int = 0
    """The last superstep that it has ended."""
    at_rest: bool = True
    """All others have ended that one too, and nobody has sent anything in it."""
    aggregated: dict[str, Any] = field(default_factory=dict)
    """Of the superstep before the next one, where it is at rest."""
    messages: dict[int, list[Any]] = field(default_factory=dict)
    """By the superstep in which they were sent."""
    markers: dict[int, dict[int, Marker]] = field(default_factory=dict)
    """By superstep, and by the lp that sent it."""
    outside: list[tuple[Place, list[Any]]] = field(default_factory=list)
    woken: bool = False
    """It has sent something already that belongs to its next superstep: a timer did."""
    waiting: dict[Place, dict[int, int]] = field(default_factory=dict)
    """By partition: offsets of what waits, and the superstep that each is of."""

    def take(self, place: Place, message: Any) -> None:
        headers = dict(message.headers())
        superstep = int(headers[SUPERSTEP])
        if superstep < self.done or (superstep == self.done and self.at_rest):
            return  # read once more after a new start
        self.waiting.setdefault(place, {})[message.offset()] = superstep
        if MARKER not in headers:
            self.messages.setdefault(superstep, []).append(message)
        else:
            told = orjson.loads(message.value())
            self.markers.setdefault(superstep, {})[told["lp"]] = Marker(told["sent"], told["aggregates"])

    def forget(self) -> None:
        """What belongs to supersteps before the one that was ended last, or to that one where all is at rest."""
        over = self.done if self.at_rest else self.done - 1
        for by_superstep in (self.messages, self.markers):
            for superstep in [each for each in by_superstep if each <= over]:
                del by_superstep[superstep]
        for place, offsets in self.waiting.items():
            self.waiting[place] = {offset: superstep for offset, superstep in offsets.items() if superstep > over}

    def waiting_of(self, place: Place) -> int:
        """Records from outside that wait for the next superstep."""
        return sum(len(messages) for each, messages in self.outside if each == place)

    def has_begun(self, lps: int) -> bool:
        """Whether it may go on to its next superstep: the last one has ended everywhere."""
        return self.at_rest or len(self.markers.get(self.done, ())) == lps

    @property
    def has_work(self) -> bool:
        """Whether there is a reason for a next one."""
        sent = sum(marker.sent for marker in self.markers.get(self.done, {}).values())
        others_go_on = any(each > self.done for each in (*self.markers, *self.messages))
        return self.woken or sent > 0 or bool(self.outside or self.messages.get(self.done)) or others_go_on

    @property
    def first_waiting(self) -> dict[Place, int]:
        return {place: min(offsets) for place, offsets in self.waiting.items() if offsets}


class SuperstepRun(LoopRun):
    def __init__(
        self, task: Given, outlet: Outlet, work: Work, states: States | None, positions: dict[Place, int]
    ) -> None:
        super().__init__(task, outlet, work, states, positions)
        assert states is not None
        (id,) = (placed.node.id for placed in task.assignment.component.operators if placed.node.loop.supersteps)
        (self._topic,) = (input.topic for input in task.assignment.component.feedback)
        self._step: KeyedStep = work.keyed[id]
        self._kept: dict[int, Table] = {state.number: state.table(id, codec.SUPERSTEP) for state in states}
        self._lps = {lp: Lp(lp, **(table.get(_KEY) or {})) for lp, table in self._kept.items()}
        self._read = dict(positions)

    def _sorted(self, messages: list[Any]) -> tuple[dict[Place, list[Any]], dict[Place, int]]:
        """Everybody waits for the markers of a superstep: no backlog is a reason to commit them later."""
        sorted = super()._sorted(messages)
        self._is_behind = False
        return sorted

    def _note_round(self, messages: Iterable[Any]) -> None:
        super()._note_round(message for message in messages if MARKER not in dict(message.headers() or ()))

    # -- what comes -------------------------------------------------------------------------------------------------------------------

    def _process(self, place: Place, messages: list[Any]) -> None:
        """It waits for its superstep."""
        lp = self._lps[self._assignment.layout.lp_of(place[1])]
        if place[0] in self._tables:
            return super()._process(place, messages)
        self._read[place] = messages[-1].offset() + 1
        if place[0] != self._topic:
            lp.outside.append((place, messages))
            if lp.waiting_of(place) >= self._settings.commit_records:
                self._inlet.pause(place)
            return
        for message in messages:
            lp.take(place, message)
        self._settle(lp)

    def _reached(self, place: Place, end: int) -> None:
        lp = self._lps[self._assignment.layout.lp_of(place[1])]
        self._read[place] = max(end, self._read[place])
        if place[0] == self._topic:
            self._settle(lp)
        elif not lp.waiting_of(place):
            super()._reached(place, end)

    def _settle(self, lp: Lp) -> None:
        """The position of what leads back: before the first that waits."""
        lp.forget()
        place = (self._topic, lp.number)
        position = lp.first_waiting.get(place, self._read[place])
        if position > self._positions[place]:
            self._begin()
            self._move(place, position)

    # -- supersteps -------------------------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        for lp in self._lps.values():
            while lp.has_begun(self._assignment.layout.lps) and (lp.has_work or not lp.at_rest):
                self._begin()
                if lp.has_work:
                    self._run_superstep(lp)
                else:
                    self._rest(lp)

    def _aggregated(self, lp: Lp) -> dict[str, Any]:
        """Over all lps, in the superstep that ended last."""
        if lp.at_rest:
            return lp.aggregated
        how, aggregated = self._step.operator.aggregators, dict[str, Any]()
        for marker in (lp.markers[lp.done][number] for number in sorted(lp.markers[lp.done])):
            for name, value in marker.aggregates.items():
                aggregated[name] = combined(how[name], aggregated.get(name), value)
        return aggregated

    def _rest(self, lp: Lp) -> None:
        lp.aggregated, lp.at_rest = self._aggregated(lp), True
        self._keep(lp)

    def _keep(self, lp: Lp) -> None:
        assert self._states is not None
        self._kept[lp.number].put(
            _KEY, {"done": lp.done, "at_rest": lp.at_rest, "aggregated": lp.aggregated if lp.at_rest else {}}
        )
        self._states[lp.number].keep()
        self._settle(lp)

    def _run_superstep(self, lp: Lp) -> None:
        """All that has come for it, then its end, in one transaction."""
        assert self._states is not None
        self._work.enter(self._states[lp.number])
        aggregated, before = self._aggregated(lp), lp.done
        self._step.begin_superstep(before + 1, aggregated)
        messages, outside = lp.messages.pop(before, []), lp.outside
        lp.outside = []
        self._try_all(self._topic, messages)
        for place, records in outside:
            self._try_all(place[0], records)
            self._move(place, self._read[place])
            self._count(len(records))
            self._inlet.resume(place)
        self._uncommitted += len(messages)
        self._end_superstep()
        self._send_marked(lp, before + 1)
        lp.done, lp.at_rest, lp.aggregated, lp.woken = before + 1, False, {}, False
        self._keep(lp)

    def _try_all(self, topic: str, messages: Iterable[Any]) -> None:
        attempt, figures = self._attempt(topic), self._figures
        figures.many = False
        for message in messages:
            figures.current = message
            aggregates = self._step.aggregates
            while True:
                try:
                    attempt(message)
                    break
                except StepFailed as failed:
                    self._step.aggregates = aggregates
                    verdict = self._judged(message, failed)
                    if verdict.letter is not None:
                        self._work.journal.append(verdict.letter)
                    if verdict.hold is None:
                        break
                    self._outlet.poll(verdict.hold)
        figures.current = None

    def _judged(self, message: Message, failed: StepFailed) -> Verdict:
        try:
            return self._failures.judge(message, failed)
        except OperatorFailed as error:  # a superstep is whole, or nothing of it
            raise Undone(error) from None

    def _end_superstep(self) -> None:
        try:
            self._work.whole(lambda _: self._work.end_superstep(self._step.id))(None)
        except StepFailed as failed:
            raise Undone(as_error(failed)) from None

    def _fire(self, state: LpState, kind: Kind, up_to: int) -> None:
        self._firing = self._lps[state.number]
        super()._fire(state, kind, up_to)

    def _send(self) -> None:
        """What a timer sends back belongs to the next superstep, which then has a reason."""
        entries = self._work.take()
        back = [entry for entry in entries if entry[0] == self._topic]
        self._outlet.produce([entry for entry in entries if entry[0] != self._topic])
        if back:
            lp = self._firing
            lp.woken = self._hurries = True
            self._outlet.produce_inside(_sent_in(lp.done + 1, back))

    def _send_marked(self, lp: Lp, superstep: int) -> None:
        """What was sent, and behind it a marker to each lp."""
        entries = self._work.take()
        back = [entry for entry in entries if entry[0] == self._topic]
        self._outlet.produce([entry for entry in entries if entry[0] != self._topic])
        merged = self._merged(back)
        self._outlet.produce_inside(_sent_in(superstep, merged))
        self._figures.sent += len(merged)
        marker = Marker(len(merged), self._step.aggregates)
        lps = range(self._assignment.layout.lps)
        self._outlet.produce_inside(marker.entry(self._topic, to, superstep, lp.number) for to in lps)
        self._hurries = True

    def _merged(self, back: list[Entry]) -> list[Entry]:
        try:
            return self._inbox.merged(back)
        except Exception as error:  # of a user's combiner
            raise Undone(as_error(StepFailed(self._step.id, error))) from error


def _sent_in(superstep: int, entries: Iterable[Entry]) -> Iterator[Entry]:
    header = (SUPERSTEP, b"%d" % superstep)
    return ((*entry[:7], [*(entry[7] or ()), header]) for entry in entries)
