"""As `whorl.tasks.inlet`, where some of what a task reads goes before the rest: each lane has a consumer of its own, so that nothing waits
behind what another lane has fetched already.

What goes round in a loop is the first lane: it is read before anything from outside, and waited for; where nothing goes round, it only
waits. Each source with a `max_rate` has a lane, which opens as far as its rate allows. So has each other topic (`fair`), up to a number of
them, so that none waits behind what was fetched of another: a bulk has a share of each. The others share the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whorl.config.spec import SourceOptions
from whorl.kafka.clients import Clients
from whorl.tasks.assignment import Assignment
from whorl.tasks.inlet import Inlet
from whorl.tasks.layout import Place
from whorl.tasks.pacing import PacedInlet

_GLANCE = 0.005
"""The longest wait for one lane: meanwhile records may have come to another."""
_BURST = 0.1
"""Seconds for which what a rate allows is saved up."""
_MOST_LANES = 8
"""Of topics that are read in turn: each has a consumer, with its threads and its memory."""


@dataclass
class Rate:
    """So many records a second."""

    per_second: float
    clock: Callable[[], float]
    _saved: float = 1.0
    _at: float | None = None

    def allows(self) -> int:
        now = self.clock()
        passed = 0.0 if self._at is None else max(now - self._at, 0.0)
        self._at, self._saved = now, min(self._saved + passed * self.per_second, max(self.per_second * _BURST, 1.0))
        return int(self._saved)

    def spend(self, records: int) -> None:
        self._saved -= records


@dataclass
class Lane:
    inlet: Inlet
    rate: Rate | None = None

    def read(self, most: int, timeout: float) -> list[Any]:
        if self.rate is None:
            return self.inlet.read(most, timeout)
        allowed = min(most, self.rate.allows())
        if not allowed:
            return []
        messages = self.inlet.read(allowed, timeout)
        self.rate.spend(sum(message.error() is None for message in messages))
        return messages


class Lanes:
    """With the same words as an `Inlet`."""

    def __init__(self, lanes: list[Lane], lane_of: Mapping[str, int], awaits_any: bool = False) -> None:
        """`lane_of`: topic to its lane. `awaits_any`: none goes before the others, so the one that gave last is waited for."""
        self._lanes, self._of, self._awaits_any = lanes, lane_of, awaits_any
        self._awaited = 0

    def read(self, most: int, timeout: float) -> list[Any]:
        """Of each lane what is there, at most `most`; waits, if not for long, for one of them."""
        messages: list[Any] = []
        for number, lane in enumerate(self._lanes):
            found = lane.read(most, 0)
            if found and self._awaits_any:
                self._awaited = number
            messages += found
        return messages or self._lanes[self._awaited].read(most, min(timeout, _GLANCE))

    @property
    def group(self) -> Any:
        return self._lanes[0].inlet.group

    def behind(self, positions: Mapping[Place, int]) -> dict[Place, int]:
        shares: list[dict[Place, int]] = [{} for _ in self._lanes]
        for place, position in positions.items():
            shares[self._of[place[0]]][place] = position
        found = [lane.inlet.behind(share) for lane, share in zip(self._lanes, shares, strict=True)]
        return {place: lag for behind in found for place, lag in behind.items()}

    def first(self, place: Place) -> int:
        return self._lanes[self._of[place[0]]].inlet.first(place)

    def seek(self, place: Place, offset: int) -> None:
        self._lanes[self._of[place[0]]].inlet.seek(place, offset)

    def pause(self, place: Place) -> None:
        self._lanes[self._of[place[0]]].inlet.pause(place)

    def resume(self, place: Place) -> None:
        self._lanes[self._of[place[0]]].inlet.resume(place)

    def close(self) -> None:
        for lane in self._lanes:
            lane.inlet.close()


def inlet_of(
    assignment: Assignment,
    clients: Clients,
    positions: Mapping[Place, int],
    generated: Mapping[str, SourceOptions],
    clock: Callable[[], float],
) -> Inlet | Lanes:
    """Lanes where any are needed."""
    topics = topics_by_lane(assignment)
    if len(topics) == 1:
        return _inlet(assignment, clients, positions, generated, clock)
    lane_of = {topic: number for number, some in enumerate(topics) for topic in some}
    rates = _max_rates(assignment)
    lanes = []
    for number, some in enumerate(topics):
        own = {place: at for place, at in positions.items() if lane_of[place[0]] == number}
        rate = next((rates[topic] for topic in some if topic in rates), None)
        bound = Rate(rate / assignment.layout.tasks, clock) if rate else None
        lanes.append(Lane(_inlet(assignment, clients, own, generated, clock), bound))
    return Lanes(lanes, lane_of, awaits_any=not rates and not any(i.goes_round for i in assignment.component.inputs))


def topics_by_lane(assignment: Assignment) -> list[list[str]]:
    """The topics of each lane, those first that go before others."""
    inputs, topics = assignment.component.inputs, assignment.topics
    first = [topic for input in inputs if input.goes_round for topic in topics[input.id]]
    rated = _max_rates(assignment)
    with_rate = [[*topics[input.id]] for input in inputs if {*topics[input.id]} & {*rated} - {*first}]
    rest = [topic for input in inputs for topic in topics[input.id] if topic not in first and topic not in rated]
    shared = [topic for topic in rest if topic in _tables(assignment)]
    in_turn = dealt([topic for topic in dict.fromkeys(rest) if topic not in shared])
    if not assignment.settings.fair or len(in_turn) < 2:
        in_turn, shared = [], rest
    waits = [first] if first or with_rate else []
    return [*waits, *with_rate, *in_turn, *([shared] if shared else [])] or [[]]


def dealt(topics: list[str]) -> list[list[str]]:
    """One by one to so many hands, and on from the first where there are more."""
    return [topics[number::_MOST_LANES] for number in range(min(len(topics), _MOST_LANES))]


def _max_rates(assignment: Assignment) -> dict[str, float]:
    inputs = assignment.component.inputs
    rates = {input.id: rate for input in inputs if (rate := getattr(input.source, "max_rate", None))}
    return {topic: rate for id, rate in rates.items() for topic in assignment.topics[id]}


def _tables(assignment: Assignment) -> set[str]:
    """They are read to their end before anything else, and need no turn."""
    return {topic for input in assignment.component.tables for topic in assignment.topics[input.id]}


def _inlet(
    assignment: Assignment,
    clients: Clients,
    positions: Mapping[Place, int],
    generated: Mapping[str, SourceOptions],
    clock: Callable[[], float],
) -> Inlet:
    group, rate = assignment.component.group, assignment.settings.max_rate_per_partition
    outside = {
        topic for i in assignment.component.inputs if i.source and not i.is_table for topic in assignment.topics[i.id]
    }
    paced = [place for place in positions if place[0] in outside]
    if rate is None or not paced:
        return Inlet(clients, group, positions, generated)
    return PacedInlet(clients, group, positions, generated).pace(rate, paced, clock)
