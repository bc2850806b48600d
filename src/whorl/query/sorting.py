"""Order within a batch: each partition's rows, sorted in Arrow, with all that they carry. Spark itself sorts no streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

_BULK = 1000
"""Rows of one batch of Arrow: small enough for a socket's buffer, so that both sides go on working."""


def sorted_rows(frame: DataFrame, by: Sequence[tuple[str, bool]]) -> DataFrame:
    return frame.mapInArrow(partial(_sorted, tuple(by)), frame.schema)


def _sorted(by: Sequence[tuple[str, bool]], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held = list(batches)
    if not held:
        return
    rows = pa.Table.from_batches(held)
    keys = [(name, "descending" if largest_first else "ascending") for name, largest_first in by]
    order = pc.sort_indices(rows, sort_keys=keys)
    yield from rows.take(order).combine_chunks().to_batches(max_chunksize=_BULK)
