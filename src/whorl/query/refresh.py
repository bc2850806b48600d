"""When a query reads anew what it reads once: files, tables and databases with `refresh`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from whorl.plan.plan import Component


@dataclass
class Refresh:
    every: float | None
    clock: Callable[[], float] = time.monotonic
    _next: float = 0.0

    @classmethod
    def of(cls, component: Component) -> Refresh:
        """As often as the most impatient of its inputs asks for."""
        asked = [getattr(input.source, "refresh", None) for input in component.inputs]
        return cls(min((each for each in asked if each is not None), default=None))

    @property
    def is_due(self) -> bool:
        return self.every is not None and self.clock() >= self._next

    def done(self) -> None:
        self._next = self.clock() + (self.every or 0.0)
