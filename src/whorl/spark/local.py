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

    def newest(self, folder: str) -> float:
        """When something in it was last written, in seconds since 1970."""
        path = self._path / folder
        return max(each.stat().st_mtime for each in (path, *path.rglob("*")))

    def write(self, name: str, data: bytes) -> None:
        """By a rename, so that a file is whole or not there. The checksum that Spark keeps beside it would not fit any more."""
        file = self._path / name
        draft = file.with_name(f".{file.name}.part")
        draft.write_bytes(data)
        self._checksum(file).unlink(missing_ok=True)
        draft.replace(file)

    def remove(self, name: str) -> None:
        """A file in it."""
        self._checksum(self._path / name).unlink(missing_ok=True)
        (self._path / name).unlink(missing_ok=True)

    @staticmethod
    def _checksum(file: Path) -> Path:
        return file.with_name(f".{file.name}.crc")

    def delete(self) -> None:
        shutil.rmtree(self._path)
