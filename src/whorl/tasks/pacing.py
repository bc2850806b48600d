"""An inlet of which no partition gives more than so many records a second, on average, whatever the others give.

By windows: a partition that has given its share is paused until a later one. What it gave too much, since records come in bulks, is taken
off the windows that follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from whorl.tasks.inlet import Inlet
from whorl.tasks.layout import Place

_WINDOW = 0.25
"""Seconds. The client fetches anew what it held of a partition that was paused, so they are not shorter."""


class PacedInlet(Inlet):
    """With the same words; who pauses a partition for another reason has it paused until he resumes it."""

    def pace(self, rate: float, places: Iterable[Place], clock: Callable[[], float]) -> PacedInlet:
        """Records a second of each of these."""
        self._rate, self._clock = rate, clock
        self._left = dict.fromkeys(places, rate * _WINDOW)
        self._window_ends = clock() + _WINDOW
        self._spent: set[Place] = set()
        self._by_others: set[Place] = set()
        return self

    def read(self, most: int, timeout: float) -> list[Any]:
        self._turn()
        allowed = sum(left for place, left in self._left.items() if place not in self._spent)
        until = max(self._window_ends - self._clock(), 0.0)
        messages = super().read(min(most, max(int(allowed), 1)), min(timeout, until))
        self._spend(Counter((m.topic(), m.partition()) for m in messages if m.error() is None))
        return messages

    def _spend(self, read: Mapping[Place, int]) -> None:
        for place, records in read.items():
            if place in self._left:
                self._left[place] -= records
                if self._left[place] < 1 and place not in self._spent:
                    self._spent.add(place)
                    super().pause(place)

    def _turn(self) -> None:
        """The next window; those that may give again are resumed."""
        passed = self._clock() - self._window_ends
        if passed < 0:
            return
        windows = 1 + int(passed / _WINDOW)
        self._window_ends += windows * _WINDOW
        share = self._rate * _WINDOW
        for place, left in self._left.items():
            self._left[place] = min(left + share * windows, share + 1.0)
        for place in [place for place in self._spent if self._left[place] >= 1]:
            self._spent.discard(place)
            if place not in self._by_others:
                super().resume(place)

    def pause(self, place: Place) -> None:
        self._by_others.add(place)
        super().pause(place)

    def resume(self, place: Place) -> None:
        self._by_others.discard(place)
        if place not in self._spent:
            super().resume(place)
