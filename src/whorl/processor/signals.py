"""Ctrl-C and SIGTERM as a wish to stop: what is being processed is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stopping_by_signal(stop: Callable[[], None]) -> Iterator[None]:
    """A second signal is as it was before: who does not want to wait says so twice. Only the main thread may have handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in former.items():
            signal.signal(number, handler)

    def told(number: int, frame: object) -> None:
        restore()
        stop()

    for number in former:
        signal.signal(number, told)
    try:
        yield
    finally:
        restore()
