"""The user's cache folder, and the lock that lets one process at a time change what is in a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """`$WHORL_CACHE`, else `$XDG_CACHE_HOME/whorl`, else `~/.cache/whorl`."""
    if own := os.environ.get("WHORL_CACHE"):
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "whorl"


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Held by one process at a time; the kernel frees it when its holder dies."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
