"""Programs over logical partitions without the engine: messages in any order, and restarts from what is kept at any moment."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

import orjson

from whorl.operators.program import PartitionProgram
from whorl.operators.record import Row
from whorl.state.states import MapState, ValueState
from whorl.testing.memory import murmur2


class Values(dict[bytes, Any]):
    def put(self, key: bytes, value: Any) -> None:
        self[key] = deepcopy(value)

    def delete(self, key: bytes) -> None:
        self.pop(key, None)


class Maps(dict[tuple[bytes, Any], Any]):
    def put(self, key: bytes, name: Any, value: Any) -> None:
        self[key, name] = deepcopy(value)

    def delete(self, key: bytes, name: Any) -> None:
        self.pop((key, name), None)

    def items(self) -> Iterator[tuple[bytes, Any, Any]]:  # type: ignore[override]
        return ((key, name, value) for (key, name), value in super().items())


class State:
    def __init__(self, kept: Values | Maps) -> None:
        self._kept = kept

    def view(self) -> Values | Maps:
        return self._kept


class Place:
    """A logical partition, and what its program knows as the context."""

    def __init__(self, number: int, partitions: int, make: Callable[[], PartitionProgram]) -> None:
        self.partition, self.partitions = number, partitions
        self.kept = {name: Maps() if isinstance(state, MapState) else Values() for name, state in _states(make())}
        self.sent: list[tuple[int, Row]] = []
        self.is_read = False
        self._make = make
        self.restart()

    def restart(self) -> None:
        self.memory: dict[str, Any] = {}
        self.program = self._make()
        for name, kept in self.kept.items():
            setattr(self.program, name, State(kept))
        self.program.restore(self)

    def partition_of(self, key: bytes) -> int:
        return (murmur2(key) & 0x7FFFFFFF) % self.partitions

    def send(self, partition: int, message: Row) -> None:
        self.sent.append((partition, orjson.loads(orjson.dumps(message))))


def _states(program: PartitionProgram) -> list[tuple[str, Any]]:
    names = {name for kind in type(program).__mro__ for name in vars(kind)}
    found = [(name, getattr(type(program), name)) for name in sorted(names)]
    return [(name, state) for name, state in found if isinstance(state, ValueState | MapState)]


class Driven:
    """All logical partitions. With `dice`, what comes next is thrown: which partition, how much of the input, which of its messages."""

    def __init__(
        self, make: Callable[[], PartitionProgram], partitions: int = 4, dice: random.Random | None = None
    ) -> None:
        self.places = [Place(number, partitions, make) for number in range(partitions)]
        self._inboxes: list[list[Row]] = [[] for _ in self.places]
        self._dice = dice
        self.rounds = self.messages = 0

    def send(self, rows: Iterable[Row]) -> None:
        """To any partitions, and then until nothing is under way."""
        waiting = [[] for _ in self.places]
        for number, row in enumerate(rows):
            waiting[number % len(self.places)].append(row)
        if self._dice is None:
            for place, given in zip(self.places, waiting, strict=True):
                self._give(place, given)
        self.settle(waiting if self._dice else [])

    def settle(self, waiting: list[list[Row]]) -> None:
        while any(self._inboxes) or any(waiting):
            self.rounds += 1
            for place in self.places:
                inbox = self._inboxes[place.partition]
                if self._dice is None:
                    taken, self._inboxes[place.partition] = inbox, []
                else:
                    taken = [
                        inbox.pop(self._dice.randrange(len(inbox))) for _ in range(self._dice.randint(0, len(inbox)))
                    ]
                    given = waiting[place.partition]
                    self._give(place, [given.pop() for _ in range(self._dice.randint(0, len(given)))])
                if taken:
                    place.program.receive(taken, place)
                    self._collect(place)
                if self._dice is not None and self._dice.random() < 0.2:
                    place.restart()

    def kept(self, state: str) -> dict[str, Any]:
        """Of all keys."""
        found: dict[str, Any] = {}
        for place in self.places:
            for key, value in place.kept[state].items():
                assert place.partition_of(key) == place.partition, "a key where it does not belong"
                found[key.decode()] = value
        return found

    def _give(self, place: Place, rows: list[Row]) -> None:
        if rows:
            place.program.process_many([place.program.parse(row, place) for row in rows], place)
            self._collect(place)

    def _collect(self, place: Place) -> None:
        self.messages += len(place.sent)
        for partition, message in place.sent:
            self._inboxes[partition].append(message)
        place.sent = []
