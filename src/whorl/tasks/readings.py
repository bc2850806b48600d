"""What a task reads before its first record: state from the changelog, tables from their topics. How far it is, and how fast.

How much there is to read is told by offsets. Of a topic that is compacted fewer records are left, so those that came are counted, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

STATE, TABLES = "state", "tables"


class Reading:
    """Written by the task's loop, read by its reporter."""

    def __init__(self, starts: Mapping[Any, int], clock: Callable[[], float], since: float) -> None:
        """`starts`: of each partition, the first offset to read. `since` tells this reading from another of the same task."""
        self.records = 0
        self._read = self._total = 0
        self._starts, self._clock, self._since = dict(starts), clock, since
        self._began = clock()
        self._seconds: float | None = None

    def move(self, positions: Mapping[Any, int], left: int) -> None:
        """To these positions, beyond which so many offsets are left."""
        self._read = sum(positions[place] - start for place, start in self._starts.items())
        self._total = self._read + left

    def end(self, positions: Mapping[Any, int]) -> None:
        self.move(positions, 0)
        self._seconds = self._clock() - self._began

    def snapshot(self) -> dict[str, Any]:
        over = self._seconds is not None
        return {
            "since": self._since,
            "read": self._read,
            "total": self._total,
            "records": self.records,
            "seconds": self._seconds if over else self._clock() - self._began,
            "over": over,
        }


@dataclass(frozen=True)
class Progress:
    """Of several tasks that read at the same time."""

    read: int
    total: int
    records: int
    seconds: float
    """Of the one that takes longest."""
    over: bool

    @classmethod
    def of(cls, readings: Iterable[Mapping[str, Any]]) -> Progress:
        listed = list(readings)
        read, total, records = (sum(one[name] for one in listed) for name in ("read", "total", "records"))
        seconds = max((one["seconds"] for one in listed), default=0.0)
        return cls(read, total, records, seconds, all(one["over"] for one in listed))

    @property
    def share(self) -> float:
        return self.read / self.total if self.total else 0.0

    @property
    def rate(self) -> float:
        """Offsets per second."""
        return self.read / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """None while nothing is known."""
        return (self.total - self.read) / self.rate if self.rate else None
