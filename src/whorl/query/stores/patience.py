"""Waiting for a server that is away: it is asked again after waits that grow, and that it is away is said once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from whorl.errors import Unavailable
from whorl.units import format_duration

Made = TypeVar("Made")
_FIRST, _LONGEST, _STEP = 1.0, 30.0, 0.2


class GivenUp(Exception):
    """The query is to stop: nothing of this batch is committed."""


@dataclass(frozen=True)
class Patience:
    sink: str
    seconds: float
    say: Callable[[str], None]
    is_over: Callable[[], bool]
    """Whether the query is to stop."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def with_(self, attempt: Callable[[], Made]) -> Made:
        """What it gives as soon as it does not raise Unavailable; raises that itself once so many seconds are over."""
        start, wait, away = self.clock(), _FIRST, False
        while True:
            try:
                done = attempt()
            except Unavailable as error:
                if self.clock() - start + wait > self.seconds:
                    raise
                if not away:
                    self.say(f"sink '{self.sink}' waits, for up to {format_duration(self.seconds)}: {error}")
                    away = True
                self._wait(wait)
                wait = min(wait * 2, _LONGEST)
            else:
                if away:
                    self.say(f"sink '{self.sink}' goes on after {format_duration(round(self.clock() - start))}")
                return done

    def _wait(self, seconds: float) -> None:
        until = self.clock() + seconds
        while self.clock() < until:
            if self.is_over():
                raise GivenUp
            self.sleep(_STEP)
