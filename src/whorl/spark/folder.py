"""A folder in any file system that Spark has: local, HDFS, whatever a URL names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from whorl.errors import WorldError


class Folder:
    def __init__(self, session: SparkSession, path: str, setting: str) -> None:
        """`setting`: the one that names it, for who has to mend it."""
        context: Any = session.sparkContext
        self._hadoop = context._jvm.org.apache.hadoop.fs
        self._conf = context._jsc.hadoopConfiguration()
        self._Path = self._hadoop.Path
        try:
            self._fs = self._Path(path).getFileSystem(self._conf)
            self._path = self._fs.makeQualified(self._Path(path))
            self._rename = self._renaming(context)
        except Exception as error:
            reason = str(error).strip().splitlines()[-1]
            hint = f"set '{setting}' to a folder, or to a URL whose file system Spark has"
            raise WorldError(f"{setting} cannot be kept in '{path}': {reason}", hint=hint, code="folder") from error
        self._read = context._jvm.org.apache.commons.io.IOUtils.toByteArray

    def _renaming(self, context: Any) -> Callable[[Any, Any], None]:
        """In one step, over what is there, where the file system has a `FileContext`; else the former file goes first."""
        configured = f"fs.AbstractFileSystem.{self._path.toUri().getScheme()}.impl"
        if self._conf.get(configured) is None:
            return self._delete_and_rename
        files = self._hadoop.FileContext.getFileContext(self._path.toUri(), self._conf)
        overwrite = context._gateway.new_array(self._hadoop.Options.Rename, 1)
        overwrite[0] = self._hadoop.Options.Rename.OVERWRITE
        return lambda part, path: files.rename(part, path, overwrite)

    def _delete_and_rename(self, part: Any, path: Any) -> None:
        self._fs.delete(path, False)
        if not self._fs.rename(part, path):
            raise WorldError(f"'{path.toString()}' cannot be written: its file system does not rename", code="folder")

    @property
    def path(self) -> str:
        return str(self._path.toString())

    @property
    def is_local(self) -> bool:
        return str(self._path.toUri().getScheme()) == "file"

    def read(self, name: str) -> bytes | None:
        path = self._Path(self._path, name)
        if not self._fs.exists(path):
            return None
        stream = self._fs.open(path)
        try:
            return bytes(self._read(stream))
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """By a rename, so that a file is whole or not there."""
        path = self._Path(self._path, name)
        part = self._Path(path.getParent(), f".{path.getName()}.part")
        stream = self._fs.create(part, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        self._rename(part, path)

    def names(self, folder: str = ".") -> list[str]:
        """Of files and folders in it; none where it is not there."""
        path = self._Path(self._path, folder)
        found = self._fs.listStatus(path) if self._fs.exists(path) else ()
        return [str(status.getPath().getName()) for status in found]

    def newest(self, folder: str) -> float:
        """When something in it was last written, in seconds since 1970."""
        path = self._Path(self._path, folder)
        files, times = self._fs.listFiles(path, True), [self._fs.getFileStatus(path).getModificationTime()]
        while files.hasNext():
            times.append(files.next().getModificationTime())
        return float(max(times)) / 1000

    def files(self, folder: str) -> list[str]:
        """Those in it and in all folders below, by their way from it."""
        root = self._fs.makeQualified(self._Path(self._path, folder))
        found, files = self._fs.listFiles(root, True), []
        while found.hasNext():
            files.append(str(root.toUri().relativize(found.next().getPath().toUri()).getPath()))
        return sorted(files)

    def move(self, name: str, to: str) -> None:
        """A file to a place inside the folder, over what is there."""
        target = self._Path(self._path, to)
        self._fs.mkdirs(target.getParent())
        self._rename(self._Path(self._path, name), target)

    def remove(self, name: str) -> None:
        """A file, or a folder with all in it, if it is there."""
        self._fs.delete(self._Path(self._path, name), True)

    def size(self) -> int:
        """Bytes of all its files."""
        return int(self._fs.getContentSummary(self._path).getLength())

    def copy_to(self, other: Folder) -> None:
        self._hadoop.FileUtil.copy(self._fs, self._path, other._fs, other._path, False, True, self._conf)

    def delete(self) -> None:
        self._fs.delete(self._path, True)
