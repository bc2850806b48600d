"""The two clocks of a logical partition: event time, from its inputs, and processing time, told by the host. Neither runs backwards.

The watermark is the lowest event time of the inputs that count. One that was never heard of holds it back; one that is idle does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

UNKNOWN = -(1 << 62)
"""Event time before there is any."""


class Times:
    def __init__(self, inputs: Iterable[str] = ()) -> None:
        """`inputs`: those that the watermark waits for."""
        self.clock = 0
        self.watermark = UNKNOWN
        self.inputs = dict.fromkeys(inputs, UNKNOWN)
        self._idle: set[str] = set()

    def tick(self, now: int) -> None:
        if now > self.clock:
            self.clock = now

    def move(self, input: str, time: int) -> bool:
        """Event time of an input has come this far; whether the watermark moved."""
        self._idle.discard(input)
        if time <= self.inputs[input]:
            return False
        self.inputs[input] = time
        return self._look()

    def rest(self, input: str) -> bool:
        """An input is silent: it holds nobody back until it moves again. Whether the watermark moved."""
        self._idle.add(input)
        return self._look()

    def over(self, time: int, event: bool) -> bool:
        return time <= (self.watermark if event else self.clock)

    def base(self) -> int:
        """The present in event time, to count a time to live from: before there is a watermark, the highest time of any input."""
        if self.watermark != UNKNOWN:
            return self.watermark
        heard = [time for time in self.inputs.values() if time != UNKNOWN]
        return max(heard, default=self.clock)

    def _look(self) -> bool:
        active = [time for input, time in self.inputs.items() if input not in self._idle]
        lowest = min(active, default=UNKNOWN)
        if lowest <= self.watermark:
            return False
        self.watermark = lowest
        return True

    def export(self) -> dict[str, Any]:
        heard = {input: time for input, time in self.inputs.items() if time != UNKNOWN}
        return {
            "clock": self.clock,
            "watermark": None if self.watermark == UNKNOWN else self.watermark,
            "inputs": heard,
        }

    def take_over(self, exported: Mapping[str, Any]) -> None:
        """What was exported, where it is further on; inputs that are no more are left out, so that they hold nobody back."""
        self.tick(exported["clock"])
        if exported["watermark"] is not None:
            self.watermark = max(self.watermark, exported["watermark"])
        for input, time in self.inputs.items():
            self.inputs[input] = max(time, exported["inputs"].get(input, UNKNOWN))

    def reset(self, exported: Mapping[str, Any]) -> None:
        """Back to what was exported: what came after never happened."""
        self.clock, self.watermark = 0, UNKNOWN
        self.inputs = dict.fromkeys(self.inputs, UNKNOWN)
        self._idle.clear()
        self.take_over(exported)
