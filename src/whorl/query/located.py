"""Where a path is."""

from __future__ import annotations

from pathlib import Path


def located(path: str) -> str:
    """A relative path is one of the working directory, whatever Spark's default file system is."""
    return path if "://" in path or path.startswith("/") else f"file://{Path(path).absolute()}"
