"""Keeps what the JVM says at every start, and nobody needs, off the terminal. What user code prints passes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (
    b"WARNING: Using incubator modules",
    b"Using Spark's default log4j profile",
    b"Setting default log level to",
    b"To adjust logging level use",
    b"WARN NativeCodeLoader",
    b"Picked up JAVA_TOOL_OPTIONS",
    b"java.util.concurrent.RejectedExecutionException",  # of Spark itself, when a job is cancelled while it stops
    b"\tat java.base/",
    b"\tat scala.",
    b"\tat org.apache.spark.",
)


@contextmanager
def filtered_stderr() -> Iterator[None]:
    """Processes started inside get a stderr that drops the noise; it stays theirs after the end of the block."""
    reading, writing = os.pipe()
    real = os.dup(2)
    threading.Thread(target=_pass_on, args=(reading, real), name="whorl-stderr", daemon=True).start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        os.dup2(real, 2)


def _pass_on(reading: int, real: int) -> None:
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if not any(noise in line for noise in _NOISE):
                os.write(real, line)
