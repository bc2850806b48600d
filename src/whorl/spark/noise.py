"""Keeps what the JVM says at every start, and nobody needs, off the terminal. What user code prints passes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
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
_TRACE = b"Traceback (most recent call last):\n"
_DAEMON = b"/pyspark/daemon.py"


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
        for line in told(lines):
            os.write(real, line)


def told(lines: Iterable[bytes]) -> Iterator[bytes]:
    """All lines but the noise."""
    trace: list[bytes] = []
    for line in lines:
        if line == _TRACE or (trace and line.startswith(b" ")):
            yield from _unless_of_daemon(trace) if line == _TRACE else ()
            trace = [line] if line == _TRACE else [*trace, line]
        elif trace:
            yield from _unless_of_daemon([*trace, line])
            trace = []
        elif not any(noise in line for noise in _NOISE):
            yield line
    yield from _unless_of_daemon(trace)


def _unless_of_daemon(trace: list[bytes]) -> list[bytes]:
    """Spark's daemon of Python workers complains when the JVM is gone before a worker has said its last word: it is, at every end."""
    files = [line for line in trace if line.startswith(b"  File ")]
    return [] if all(_DAEMON in line for line in files) and (files or len(trace) == 1) else trace
