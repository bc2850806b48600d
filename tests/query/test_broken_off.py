"""What a JVM had sent before it died is not taken for all there was."""

from __future__ import annotations

from collections.abc import Callable
from io import BufferedReader, BytesIO

import pyarrow as pa
import pytest

from whorl.query.action import _to_the_end

BATCHES = [pa.RecordBatch.from_pydict({"n": [1, 2]}), pa.RecordBatch.from_pydict({"n": [3]})]


def main(infile: BufferedReader, read: Callable[[], list[pa.RecordBatch]]) -> list[pa.RecordBatch]:
    """As PySpark's worker: what it reads from is a local variable of this name."""
    return read()


def test_a_whole_stream_has_spark_s_end_mark_behind_it() -> None:
    rest = BufferedReader(BytesIO(b"\xff\xff\xff\xfc"))
    assert main(rest, lambda: list(_to_the_end(BATCHES))) == BATCHES
    assert rest.read() == b"\xff\xff\xff\xfc"


def test_a_stream_that_breaks_off_ends_in_an_error() -> None:
    with pytest.raises(EOFError, match="Spark's side of the task is gone"):
        main(BufferedReader(BytesIO()), lambda: list(_to_the_end(BATCHES)))


def test_a_pyspark_that_reads_elsewhere_is_noticed() -> None:
    with pytest.raises(RuntimeError, match="keeps its input elsewhere"):
        list(_to_the_end(BATCHES))
