"""Which inputs have had nothing to say for so long that event time goes on without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

Spot = tuple[int, str]
"""A logical partition and an input."""


class Silence:
    """Looks at its clock seldom: silence is a matter of seconds."""

    def __init__(self, patience: Mapping[Spot, float], clock: Callable[[], float]) -> None:
        """`patience`: how long each may be silent. One that is alone in its logical partition holds back nobody but itself."""
        count = [lp for lp, _ in patience]
        self._patience = {spot: most for spot, most in patience.items() if count.count(spot[0]) > 1}
        self._clock = clock
        self._since = dict.fromkeys(self._patience, clock())
        self._look_at = clock() + min(self._patience.values(), default=0.0)

    def heard(self, lp: int, input: str) -> None:
        if (lp, input) in self._patience:
            self._since[lp, input] = self._clock()

    def broken_off(self) -> Iterator[Spot]:
        """Those that are silent for too long now."""
        if not self._patience or (now := self._clock()) < self._look_at:
            return
        self._look_at = now + 1.0
        for spot, most in self._patience.items():
            if now - self._since[spot] >= most:
                yield spot
