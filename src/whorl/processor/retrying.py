"""What follows a failure: a wait that doubles up to a bound, told once for each failure in a row that is a new one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from whorl.errors import WhorlError

log = logging.getLogger("whorl.processor")


@dataclass
class Retries:
    attempts: int | None
    """In a row; None: for ever."""
    delay: float
    max_delay: float
    wait: Callable[[float], object]
    """Returns sooner where the processor is told to stop."""
    in_a_row: int = 0
    _told: str = ""

    def succeeded(self) -> None:
        if self._told:
            log.warning("goes on after %d failures", self.in_a_row)
        self.in_a_row, self._told = 0, ""

    def failed(self, error: Exception) -> None:
        """Waits; or raises it again, where a retry would not help or there were enough."""
        if isinstance(error, WhorlError) and not error.retryable:
            raise error
        if self.attempts is not None and self.in_a_row >= self.attempts:
            raise error
        pause = min(self.delay * 2 ** min(self.in_a_row, 30), self.max_delay)
        self.in_a_row += 1
        self._tell(error, pause)
        self.wait(pause)

    def _tell(self, error: Exception, pause: float) -> None:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        if said != self._told:
            log.warning("%s; nothing was committed, the same records come again in %.3g s", said, pause)
        self._told = said
