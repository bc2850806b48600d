"""How many records a batch may have, so that it takes as long as its trigger: what a query is started with, and when it is started anew.

Spark fixes the bound of a source when the query starts. So it follows slowly: the query starts anew, between two batches, when for several
of them another bound by half or by twice would have been right, and never twice within a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from whorl.config.settings import Settings
from whorl.pace import Pace, far

_APART = 1.5
_BATCHES = 3
_SECONDS = 60.0


@dataclass
class QueryPace:
    """Of one query, over its starts."""

    pace: Pace | None
    """None: not asked for, or batches have no interval."""
    clock: Callable[[], float]
    most: int | None = None
    """Records of a batch, of each source; in force since the last start."""
    _off: int = 0
    _changed_at: float = field(default=float("-inf"))

    def after(self, records: int, seconds: float) -> None:
        """A batch that had anything to read."""
        if self.pace is None or records <= 0:
            return
        self.pace = self.pace.after(records, seconds)
        self._off = self._off + 1 if far(self.pace.most, self.most, _APART) else 0

    @property
    def wants_change(self) -> bool:
        return self._off >= _BATCHES and self.clock() - self._changed_at >= _SECONDS

    def change(self) -> int | None:
        """The bound of the next start."""
        assert self.pace is not None
        self.most, self._off, self._changed_at = self.pace.most, 0, self.clock()
        return self.most


def pace_of(settings: Settings, clock: Callable[[], float]) -> QueryPace:
    interval = settings.trigger if isinstance(settings.trigger, float) else None
    asked = settings.backpressure and interval is not None
    return QueryPace(Pace(interval, settings.min_rate) if asked and interval else None, clock)


def rate_bound(settings: Settings, partitions: int, second: float = 1.0) -> int | None:
    """Records of a batch of a source with so many partitions, by `max_rate_per_partition`."""
    rate = settings.max_rate_per_partition
    if rate is None:
        return None
    interval = settings.trigger if isinstance(settings.trigger, float) else second
    return max(round(rate * interval * partitions), 1)


def least(*bounds: int | None) -> int | None:
    """Of those that there are."""
    return min((bound for bound in bounds if bound is not None), default=None)
