"""A folder in a file system that Spark has by another name, and of which Hadoop knows no more than the `FileSystem`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from whorl.errors import WorldError
from whorl.spark.folder import Folder


@pytest.fixture
def shelf(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The URL of a scheme without an `AbstractFileSystem`, under which is this machine's own."""
    settings = {
        "fs.shelf.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
        "fs.viewfs.mounttable.books.link./all": f"file://{tmp_path}",
    }
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    for name, value in settings.items():
        hadoop.set(name, value)
    yield "shelf://books/all"
    for name in settings:
        hadoop.unset(name)


def test_what_is_written_is_there_once_and_whole(spark: SparkSession, shelf: str, tmp_path: Path) -> None:
    folder = Folder(spark, f"{shelf}/one", "savepoints")
    folder.write("a.json", b"first")
    folder.write("a.json", b"second")
    assert folder.read("a.json") == b"second" and folder.names() == ["a.json"] and folder.size() == 6
    assert (tmp_path / "one" / "a.json").read_bytes() == b"second"
    assert not folder.is_local
    folder.copy_to(Folder(spark, f"{tmp_path}/two", "savepoints"))
    assert (tmp_path / "two" / "a.json").read_bytes() == b"second"
    folder.delete()
    assert folder.read("a.json") is None and folder.names() == []


def test_a_file_system_that_there_is_not(spark: SparkSession) -> None:
    with pytest.raises(WorldError, match="savepoints cannot be kept in 'nowhere://books/all'"):
        Folder(spark, "nowhere://books/all", "savepoints")
