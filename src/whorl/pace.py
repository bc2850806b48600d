"""How many records to take at a time so that they take as long as they should: backpressure as a function from what was measured.

It learns from two kinds of measurement alone: what took too long, and what was all that was allowed. Of a few records that took little
time nobody can tell what many would take.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_SHARE = 0.9
"""Of the interval that is used: the rest is for what comes between."""
_BOUND = 0.9
"""From this share of what was allowed on, there was more."""
_UP = 0.5
"""How much of a rise is believed at once; a fall is believed as it is."""


@dataclass(frozen=True)
class Pace:
    interval: float
    """Seconds that what is taken at a time should take."""
    lowest: float
    """Records a second, whatever is measured."""
    rate: float | None = None
    """Records a second; None: not bound yet."""

    @property
    def most(self) -> int | None:
        """Records to take at a time; None: as many as there are."""
        return None if self.rate is None else max(round(self.rate * self.interval), 1)

    def after(self, records: int, seconds: float) -> Pace:
        """What is right now that so many took so long."""
        if records <= 0 or seconds <= 0:
            return self
        target, possible = self.interval * _SHARE, records / seconds * _SHARE
        if seconds > target:
            return self._at(possible if self.rate is None else min(possible, self.rate))
        if self.most is not None and self.rate is not None and records >= self.most * _BOUND:
            return self._at(self.rate + max(possible - self.rate, 0.0) * _UP)
        return self

    def _at(self, rate: float) -> Pace:
        return replace(self, rate=max(rate, self.lowest))


def far(one: int | None, other: int | None, by: float) -> bool:
    """Whether two bounds differ by more than this factor."""
    if one is None or other is None:
        return one is not other
    return max(one, other) > by * min(one, other)
