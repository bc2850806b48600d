"""How long records take from their timestamp to the commit that holds what came of them.

A few records of each bulk stand for all of it, so that this costs microseconds for thousands of them; a bulk of up to so many is counted
record by record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whorl.histogram import Recent

_SAMPLES = 8


class Latency:
    def __init__(self, recent: Recent) -> None:
        self._recent = recent
        self._waiting: list[tuple[int, float]] = []
        """Timestamps of what is not committed yet, in ms, and for how many records each stands."""

    def note(self, messages: Sequence[Any]) -> None:
        """Records that are processed."""
        count = len(messages)
        if count <= _SAMPLES:
            self._waiting += [(message.timestamp()[1], 1.0) for message in messages]
            return
        weight, step = count / _SAMPLES, (count - 1) / (_SAMPLES - 1)
        self._waiting += [(messages[round(n * step)].timestamp()[1], weight) for n in range(_SAMPLES)]

    def committed(self, now: float) -> None:
        """`now`: milliseconds since 1970."""
        self._recent.turn()
        for timestamp, weight in self._waiting:
            if timestamp > 0:  # a record without one cannot say how old it is
                self._recent.add(now - timestamp, weight)
        self._waiting.clear()
