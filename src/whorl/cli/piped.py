"""Output that may be long, and whose reader may have enough of it: `whorl consume orders | head`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def piped() -> Iterator[None]:
    """What is printed inside ends without a word when nobody reads on."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
