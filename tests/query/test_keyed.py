"""Operators with state by key in a query: on Spark's transformWithState they do what they do in tasks, and go on after a restart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from whorl import Context, KeyedOperator, ListState, MapState, ValueState
from whorl.operators.keyed_step import KeyedStep
from whorl.query.keyed import keyed_rows
from whorl.schema import Schema
from whorl.state.timers import Kind
from whorl.testing import OperatorHarness

pytestmark = pytest.mark.spark
STATE = "spark.sql.streaming.stateStore"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
LEAVES = Schema.of({"who": "string", "what": "string"})


def made_here() -> type[KeyedOperator]:
    """In a function, so that it is pickled whole: workers need not import this file."""

    class Diary(KeyedOperator):
        """All kinds of state, and a timer a minute after a record that asks for one."""

        seen = ValueState(int)
        xs = ListState(float)
        by = MapState(str, int)

        def process(self, key: str, record: dict[str, Any], context: Context) -> None:
            seen = self.seen.update(lambda before: (before or 0) + 1)
            self.xs.append(record["x"])
            self.by[str(record["x"])] = seen
            if record["x"] > 1:
                context.timers.at(record["at"] + timedelta(minutes=1))
            told = f"{seen} {sum(self.xs.get())} {sorted(dict(self.by.items()))}"
            context.emit({"who": key, "what": told})

        def on_timer(self, key: str, time: datetime, context: Context) -> None:
            context.emit({"who": key, "what": f"{time:%H:%M} after {self.seen.get()}"})

    return Diary


@pytest.fixture
def on_spark(quick: SparkSession, tmp_path: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """What one more file gives, in a new run of the query."""
    settings = {f"{STATE}.providerClass": ROCKS, f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true"}
    for name, value in {**settings, "spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC"}.items():
        quick.conf.set(name, value)
    folder = tmp_path / "in"
    folder.mkdir()
    operator = made_here()

    def run(*lines: str, clock: Kind = "event") -> list[tuple[Any, ...]]:
        (folder / f"{len(list(folder.iterdir()))}.json").write_text("\n".join(lines) + "\n")
        found: list[Any] = []
        rows = quick.readStream.schema("who string, x double, at timestamp").json(str(folder))
        rows = rows.withWatermark("at", "0 seconds")
        kept = keyed_rows(rows, ("who",), lambda: KeyedStep(operator(), "diary", bytes.decode), LEAVES, "diary", clock)
        writer = kept.writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
        writer = writer.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120) and query.exception() is None
        return found

    return run


def line(who: str, x: float, seconds: int) -> str:
    return f'{{"who": "{who}", "x": {x}, "at": "{NOON + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"}}'


def test_as_in_tasks_and_on_after_a_restart(on_spark: Callable[..., list[tuple[Any, ...]]]) -> None:
    sent = [[("a", 1.5, 0), ("b", 1.0, 1), ("a", 2.5, 2)], [("a", 0.5, 100), ("c", 1.0, 101)], [("b", 0.0, 200)]]
    given = [row for lines in sent for row in on_spark(*(line(*each) for each in lines))]
    harness = OperatorHarness(made_here())
    for lines in sent:
        for who, x, seconds in lines:
            harness.send(who, {"x": x, "at": NOON + timedelta(seconds=seconds)})
        harness.watermark(NOON + timedelta(seconds=max(seconds for _, _, seconds in lines)))
    expected = sorted((row["who"], row["what"]) for row in harness.rows)
    assert ("a", "12:01 after 3") in expected and sorted(given) == expected
