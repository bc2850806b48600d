"""As `whorl.tasks.inlet`, where some of what a task reads goes before the rest: each lane has a consumer of its own, so that nothing waits
behind what another lane has fetched already.

What goes round in a loop is the first lane: it is read before anything from outside, and waited for; where nothing goes round, it only
waits. Each source with a `max_rate` has a lane, which opens as far as its rate allows. The others share the last one.
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

_GLANCE = 0.005
"""The longest wait for one lane: meanwhile records may have come to another."""
_BURST = 0.1
"""Seconds for which what a rate allows is saved up."""


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

    def __init__(self, lanes: list[Lane], lane_of: Mapping[str, int]) -> None:
        """`lane_of`: topic to its lane."""
        self._lanes, self._of = lanes, lane_of

    def read(self, most: int, timeout: float) -> list[Any]:
        """Of each lane what is there, at most `most`; waits, if not for long, for the first."""
        messages = [message for lane in self._lanes for message in lane.read(most, 0)]
        return messages or self._lanes[0].read(most, min(timeout, _GLANCE))

    @property
    def group(self) -> Any:
        return self._lanes[0].inlet.group

    def behind(self, positions: Mapping[Place, int]) -> int:
        shares: list[dict[Place, int]] = [{} for _ in self._lanes]
        for place, position in positions.items():
            shares[self._of[place[0]]][place] = position
        return sum(lane.inlet.behind(share) for lane, share in zip(self._lanes, shares, strict=True))

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
    inputs, group = assignment.component.inputs, assignment.component.group
    rates = {input.id: rate for input in inputs if (rate := getattr(input.source, "max_rate", None))}
    first = [input.id for input in inputs if input.goes_round]
    rest = [input.id for input in inputs if input.id not in (*first, *rates)]
    if not first and not rates:
        return Inlet(clients, group, positions, generated)
    groups = [first, *([id] for id in rates), *([rest] if rest else [])]
    lane_of = {topic: number for number, ids in enumerate(groups) for id in ids for topic in assignment.topics[id]}
    lanes = []
    for number, ids in enumerate(groups):
        own = {place: at for place, at in positions.items() if lane_of[place[0]] == number}
        rate = next((rates[id] for id in ids if id in rates), None)
        bound = Rate(rate / assignment.layout.tasks, clock) if rate else None
        lanes.append(Lane(Inlet(clients, group, own, generated), bound))
    return Lanes(lanes, lane_of)
