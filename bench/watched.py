"""What the operators of the recovery benchmark must have given and kept, by a model that knows neither Kafka nor state.

The records say all that depends on event time. What depends on the clock follows from the moment that each row names: whether a value has
ended, and when a timer rings. A ring that is not in the topic must still be set, and the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.pipelines.watching import (
    FRESH_MS,
    RECENT_MS,
    RINGS_AFTER_MS,
    RINGS_MS,
    sets_event_timer,
    sets_timer,
    sets_values,
)
from bench.sequences import KEYS

START_MS = 1_577_836_800_000
"""The event time of the first record: years before any clock, so that timers of the two kinds are told apart."""

Row = Mapping[str, Any]
Value = tuple[Any, int | None]
"""And when it ends."""
Values = Mapping[tuple[int, str], Value]
"""By key and state."""
Rings = set[tuple[int, int]]
"""Key and time in ms."""


def time_of(key: int, number: int) -> int:
    return START_MS + number * KEYS + key


@dataclass
class Kept:
    """What a pipeline has kept in the end, by key."""

    values: dict[tuple[int, str], Value] = field(default_factory=dict)
    timers: Rings = field(default_factory=set)


@dataclass
class Model:
    """Follows the records of each key through the rows that they gave."""

    sent: Mapping[int, int]
    """How many numbers each key has."""
    watermarks: Mapping[int, int]
    """By key: the highest event time that the partition of the key has seen."""
    wrong: list[str] = field(default_factory=list)
    _values: dict[tuple[int, str], Value] = field(default_factory=dict)
    _timers: Rings = field(default_factory=set)
    """By the clock: all that were set."""

    def follow(self, row: Row) -> None:
        key, number, now = row["k"], row["n"], row["now"]
        lasting = {"seen": (number, None), "recent": self._alive(key, "recent", time_of(key, number))}
        expected = {**lasting, "fresh": self._alive(key, "fresh", now)}
        if any(row[name] != value for name, (value, _) in expected.items()):
            self.wrong.append(f"row {dict(row)}, not {expected}")
        if sets_values(number):
            self._values[key, "recent"] = number, time_of(key, number) + RECENT_MS
            self._values[key, "fresh"] = number, now + FRESH_MS
        if sets_timer(number):
            self._timers.add((key, now + RINGS_AFTER_MS))

    def judge_rings(self, rings: Iterable[Row], kept: Rings) -> tuple[int, int]:
        """How many are lost and how many too many. Of those by the clock, any may still be to come."""
        counted, rung = Counter[tuple[int, int]](), Counter[int]()
        for ring in rings:
            key, time = ring["k"], ring["time"]
            counted[key, time] += 1
            rung[key] += 1
            if ring["rung"] != rung[key] or (_by_event(time) and ring["seen"] != _seen_before(key, time)):
                self.wrong.append(f"ring {dict(ring)}, number {rung[key]} of its key")
        due = {ring for ring in self._event_timers() if self._is_due(ring)} | (self._timers - kept)
        self._values |= {(key, "rung"): (count, None) for key, count in rung.items()}
        return len(due - counted.keys()), sum(counted.values()) - len(due & counted.keys())

    def values(self, now: int) -> Values:
        """All that have not ended."""
        ends = {"recent": self.watermarks, "fresh": dict.fromkeys(self.watermarks, now)}
        living = {
            (key, state): (value, expires)
            for (key, state), (value, expires) in self._values.items()
            if expires is None or expires > ends[state][key]
        }
        totals = {(key, state): (count, None) for key, count in self.sent.items() for state in ("seen", "count")}
        return living | totals

    def timers(self, rings: Rings) -> Rings:
        """Those still set when these have rung."""
        by_event = {ring for ring in self._event_timers() if not self._is_due(ring)}
        return by_event | (self._timers - rings)

    def _alive(self, key: int, state: str, now: int) -> Value:
        value, expires = self._values.get((key, state), (None, now))
        return (value, expires) if expires is not None and expires > now else (None, None)

    def _event_timers(self) -> Iterator[tuple[int, int]]:
        for key, count in self.sent.items():
            yield from ((key, time_of(key, number) + RINGS_MS) for number in filter(sets_event_timer, range(count)))

    def _is_due(self, ring: tuple[int, int]) -> bool:
        return ring[1] <= self.watermarks[ring[0]]


def _by_event(time: int) -> bool:
    return time < START_MS * 1.1


def _seen_before(key: int, time: int) -> int:
    """Records of the key with an earlier time: timers that a record makes due come before it."""
    return -(-(time - time_of(key, 0)) // KEYS)
