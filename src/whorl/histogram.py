"""How long things took, in buckets that grow by an eighth of a doubling: percentiles within 5 %, in a few hundred bytes, and two add up.

The last seconds count, not all since the start: what was slow an hour ago says nothing about now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import log2

PERCENTILES = (50, 95, 99)
_PER_DOUBLING = 8
Buckets = Mapping[int, float]
"""How many fell into each."""


def bucket_of(ms: float) -> int:
    """0 for less than a millisecond."""
    return 0 if ms < 1 else 1 + int(log2(ms) * _PER_DOUBLING)


def middle_of(bucket: int) -> float:
    """Milliseconds that stand for all in it."""
    return 0.5 if bucket == 0 else float(2 ** ((bucket - 0.5) / _PER_DOUBLING))


def together(several: Iterable[Buckets]) -> dict[int, float]:
    total: dict[int, float] = {}
    for each in several:
        for bucket, count in each.items():
            total[bucket] = total.get(bucket, 0) + count
    return total


def percentile(buckets: Buckets, share: float) -> float:
    """The smallest that so many percent do not exceed; 0 of nothing."""
    wanted, seen, last = sum(buckets.values()) * share / 100, 0.0, 0
    for bucket in sorted(buckets):
        seen, last = seen + buckets[bucket], bucket
        if seen >= wanted:
            break
    return middle_of(last) if buckets else 0.0


def percentiles(buckets: Buckets) -> dict[str, float]:
    """{"p50": ms, …}; nothing of nothing."""
    return {f"p{share}": round(percentile(buckets, share), 2) for share in PERCENTILES} if buckets else {}


class Recent:
    """What fell into buckets within the last one or two windows."""

    def __init__(self, clock: Callable[[], float], window: float = 10.0) -> None:
        self._clock, self._window = clock, window
        self._now: dict[int, float] = {}
        self._before: dict[int, float] = {}
        self._turn_at = clock() + window

    def add(self, ms: float, count: float = 1) -> None:
        bucket = bucket_of(ms)
        self._now[bucket] = self._now.get(bucket, 0) + count

    def turn(self) -> None:
        """Forgets what is older than two windows."""
        now = self._clock()
        if now >= self._turn_at:
            late = now >= self._turn_at + self._window
            self._before, self._now = {} if late else self._now, {}
            self._turn_at = now + self._window

    def buckets(self) -> dict[int, float]:
        """As they are now; another thread may go on adding. What nobody has added to for long is over, too."""
        over = self._clock() - self._turn_at
        if over >= self._window:
            return {}
        return together((self._now.copy(),) if over >= 0 else (self._before.copy(), self._now.copy()))
