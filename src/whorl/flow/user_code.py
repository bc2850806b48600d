"""User modules are found beside the pipeline file, and forgotten afterwards: two pipelines may name theirs alike."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def user_modules(pipeline: str) -> Iterator[None]:
    """Imports inside see this folder first, or that of this pipeline file."""
    folder = os.path.abspath(pipeline)
    folder = folder if os.path.isdir(folder) else os.path.dirname(folder)
    before = set(sys.modules)
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            if _lies_in(sys.modules[name], folder):
                del sys.modules[name]


def _lies_in(module: ModuleType, folder: str) -> bool:
    file = getattr(module, "__file__", None) or ""
    return file.startswith(folder + os.sep) and "site-packages" not in file
