"""A folder of this machine, as `whorl.spark.folder` has it, without Spark: to look into it takes no JVM."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlparse


class LocalFolder:
    def __init__(self, path: str) -> None:
        self._path = Path(path.removeprefix("file:"))

    @staticmethod
    def has(path: str) -> bool:
        """Whether the path is one of this machine."""
        return urlparse(path).scheme in ("", "file")

    @property
    def path(self) -> str:
        return str(self._path)

    def read(self, name: str) -> bytes | None:
        file = self._path / name
        return file.read_bytes() if file.is_file() else None

    def names(self, folder: str = ".") -> list[str]:
        path = self._path / folder
        return [each.name for each in path.iterdir()] if path.is_dir() else []

    def delete(self) -> None:
        shutil.rmtree(self._path)
