"""Entries of state as Arrow batches: what Spark takes from Python, and what parquet files are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from whorl.reading.entries import Entry

_ROWS = 10_000
SCHEMA = pa.schema(
    [
        pa.field("operator", pa.string(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("key_bytes", pa.binary(), nullable=False),
        pa.field("map_key", pa.string()),
        pa.field("value", pa.string(), nullable=False),
        pa.field("expires", pa.timestamp("us", tz="UTC")),
        pa.field("logical_partition", pa.int32(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
    ]
)


def batches(entries: Iterable[Entry]) -> Iterator[pa.RecordBatch]:
    rows = (entry.columns() for entry in entries)
    while some := list(islice(rows, _ROWS)):
        yield pa.RecordBatch.from_pylist(some, SCHEMA)


def write_parquet(file: Path, entries: Iterable[Entry]) -> int:
    """How many they were."""
    count = 0
    with ParquetWriter(file, SCHEMA) as writer:
        for batch in batches(entries):
            writer.write_batch(batch)
            count += batch.num_rows
    return count
