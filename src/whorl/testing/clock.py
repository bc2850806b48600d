"""Time set by hand: it passes when somebody waits, never by itself."""

from __future__ import annotations

_LEAST = 0.001


class ManualClock:
    def __init__(self, now: float = 1_767_225_600.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        """A wait of nothing takes a millisecond too, so that whoever waits for a moment gets there."""
        self.now += max(seconds, _LEAST)
