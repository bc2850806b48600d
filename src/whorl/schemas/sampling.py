"""Rows to infer columns from: the last records of a topic, or the lines of files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from whorl.config.sources import FileSource
from whorl.errors import PipelineError, WorldError
from whorl.formats import FormatOptions, codec
from whorl.formats.options import CsvFormat, JsonFormat
from whorl.kafka.reading import read_tail
from whorl.kafka.topics import Cluster
from whorl.schemas.observe import Inferred, infer, infer_cells

SAMPLE = 1000
"""Records of a topic, over all partitions, or lines of files."""


def sample_topics(cluster: Cluster, topics: Iterable[str], format: FormatOptions, most: int = SAMPLE) -> Inferred:
    """Of the last records; raises WorldError where there are none."""
    named = list(topics)
    values = topic_values(cluster, named, most)
    if not values:
        hint = "produce some first, or write the columns: schema: {name: type}"
        raise WorldError(f"topic '{named[0]}' has no records to infer columns from", hint=hint, code="no-sample")
    return of_values(values, format)


def topic_values(cluster: Cluster, topics: Iterable[str], most: int) -> list[bytes | None]:
    counts = cluster.partition_counts()
    places = [(topic, partition) for topic in topics for partition in range(counts.get(topic, 0))]
    each = -(-most // len(places)) if places else 0
    return [message.value() for message in read_tail(cluster.clients, cluster, places, each)] if places else []


def of_values(values: Iterable[bytes | None], format: FormatOptions) -> Inferred:
    if isinstance(format, CsvFormat):
        return _csv_values([value.decode("utf-8", "replace") for value in values if value], format)
    if not isinstance(format, JsonFormat):
        hint = "leave `schema` out"
        raise PipelineError(f"{format.type} says itself which columns it has", hint=hint, code="format")
    return infer(_read(values, codec(format, None).decode))


def _read(values: Iterable[bytes | None], decode: Any) -> Iterator[dict[str, Any] | None]:
    for value in values:
        try:
            row = decode(value)
        except ValueError:
            yield None
            continue
        if row is not None:
            yield row


def _csv_values(lines: list[str], format: CsvFormat) -> Inferred:
    if format.columns is None:
        hint = "name them: format: {type: csv, columns: [a, b]}"
        raise PipelineError("csv records do not say what their columns are called", hint=hint, code="format")
    return infer_cells(format.columns, csv.reader(lines, delimiter=format.delimiter, quotechar=format.quote))


def sample_files(source: FileSource, most: int = SAMPLE) -> Inferred:
    """Of files on this machine, the newest first."""
    files = _files(source.path)
    if source.format == "json":
        lines = (line for file in files for line in _lines(file))
        return of_values((line.encode() for line in islice(lines, most)), JsonFormat())
    if source.format == "csv":
        return _csv_files(files, source, most)
    raise PipelineError(
        f"the columns of {source.format} files are not inferred from samples",
        hint="write `schema: {name: type}`",
        code="format",
    )


def _csv_files(files: list[Path], source: FileSource, most: int) -> Inferred:
    names: list[str] = []
    cells: list[list[str] | None] = []
    for file in files:
        rows = csv.reader(io.StringIO(file.read_text("utf-8", "replace")), delimiter=source.delimiter)
        head = next(rows, []) if source.header else []
        names = names or head
        cells += list(islice(rows, most - len(cells)))
    width = max((len(line) for line in cells if line), default=0)
    return infer_cells(names or [f"_c{index}" for index in range(width)], cells)


def _lines(file: Path) -> Iterator[str]:
    with file.open("r", encoding="utf-8", errors="replace") as lines:
        yield from (line for line in lines if line.strip())


def _files(path: str) -> list[Path]:
    url = urlparse(path)
    if url.scheme not in ("", "file"):
        hint = "write `schema: {name: type}`, or infer it from a copy: whorl schema infer FOLDER"
        raise WorldError(f"'{path}' is not on this machine, where columns are inferred", hint=hint, code="no-sample")
    root = Path(url.path if url.scheme else path)
    there = [root] if root.is_file() else [file for file in root.rglob("*") if file.is_file()]
    shown = [file for file in there if not file.name.startswith((".", "_"))]
    if not shown:
        hint = "put a file there first, or write `schema: {name: type}`"
        raise WorldError(f"'{path}' has no files to infer columns from", hint=hint, code="no-sample")
    return sorted(shown, key=lambda file: file.stat().st_mtime, reverse=True)
