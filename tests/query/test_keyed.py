"""The seam for operators with state by key: a small one runs on Spark's transformWithState."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from whorl.query.keyed import Fields, Handle, keyed_step
from whorl.schema import Schema

pytestmark = pytest.mark.spark
STATE = "spark.sql.streaming.stateStore"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def running_count() -> Any:
    """Made in a function, so that it is pickled whole: workers need not import this file."""

    class RunningCount:
        def open(self, handle: Handle) -> None:
            self._seen = handle.value("seen", Schema.of({"count": "long", "sum": "double"}))

        def process(self, key: Fields, rows: Iterable[Fields]) -> Iterator[Fields]:
            seen = self._seen.get() or {"count": 0, "sum": 0.0}
            for row in sorted(rows, key=lambda row: row["x"]):
                seen = {"count": seen["count"] + 1, "sum": seen["sum"] + row["x"]}
                yield {**key, **seen}
            self._seen.set(seen)

    return RunningCount()


def test_a_running_count_goes_on_after_a_restart(quick: SparkSession, tmp_path: Path) -> None:
    settings = {f"{STATE}.providerClass": ROCKS, f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true"}
    for name, value in {**settings, "spark.sql.shuffle.partitions": "1"}.items():
        quick.conf.set(name, value)
    folder = tmp_path / "in"
    folder.mkdir()
    found: list[Any] = []

    def run() -> list[tuple[Any, ...]]:
        rows = quick.readStream.schema("who string, x double").json(str(folder))
        leaves = Schema.of({"who": "string", "count": "long", "sum": "double"})
        counted = keyed_step(rows, ("who",), running_count(), leaves, id="count")
        writer = counted.writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
        writer = writer.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120) and query.exception() is None
        rows, found[:] = sorted(found), []
        return rows

    (folder / "1.json").write_text('{"who": "a", "x": 1.5}\n{"who": "b", "x": 1}\n{"who": "a", "x": 2}\n')
    assert run() == [("a", 1, 1.5), ("a", 2, 3.5), ("b", 1, 1.0)]
    (folder / "2.json").write_text('{"who": "a", "x": 0.5}\n{"who": "c", "x": 7}\n')
    assert run() == [("a", 3, 4.0), ("c", 1, 7.0)]
