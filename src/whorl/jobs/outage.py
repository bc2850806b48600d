"""What a job waits for, said once when it begins and once when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


class Outages:
    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell, self._clock = tell, clock
        self._since: dict[str, float] = {}

    def now(self, waiting: Mapping[str, str]) -> None:
        """Who waits, and for what; who is not among them does not any more."""
        for who, why in waiting.items():
            if who not in self._since:
                self._since[who] = self._clock()
                self._tell(f"{who} waits: {why}; it is tried again until it works")
        for who in [who for who in self._since if who not in waiting]:
            self._tell(f"{who} goes on after {self._clock() - self._since.pop(who):.0f} s")
