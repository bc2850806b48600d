"""Something that is done now and then beside a pipeline that runs. What fails in it is no failure of the pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from whorl.errors import WhorlError


class Periodic:
    """Calls `action` at once, or after the first wait, and then every so many seconds until it is closed."""

    def __init__(self, name: str, action: Callable[[], None], every: float, at_once: bool = True) -> None:
        self._action, self._every, self._at_once = action, every, at_once
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> Periodic:
        self._thread.start()
        return self

    def close(self) -> None:
        self._over.set()
        self._thread.join(5)

    def _run(self) -> None:
        if not self._at_once:
            self._over.wait(self._every)
        while not self._over.is_set():
            with suppress(WhorlError):  # what is down is told by those who need it
                self._action()
            self._over.wait(self._every)
