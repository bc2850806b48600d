"""Rows as Spark reads them: Kafka streams and batches read again, files, rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from whorl.config.loader import load
from whorl.errors import PipelineError
from whorl.flow.check import checked
from whorl.plan.plan import Component
from whorl.plan.planner import make_plan
from whorl.query.compile import Compiled, compile_component
from whorl.query.read import Reading, _common, _range

pytestmark = pytest.mark.spark


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text('{"id": 1, "who": "a"}\nbad\n{"id": 2, "who": "b"}\n{"id": "x"}\n')
    return folder


def component(text: str) -> Component:
    Path("pipeline.yaml").write_text(text)
    loaded = load("pipeline.yaml")
    (found,) = make_plan(checked(loaded), loaded.settings).components
    return found


def compiled(session: SparkSession, text: str) -> Compiled:
    reading = Reading("", {}, {}, {"out": 1, "demo.dead": 1}, "demo.dead")
    return compile_component(session, component(text), reading, lambda *_: None)


def all_of(frame: DataFrame | None, folder: Path, mode: str = "append") -> list[Any]:
    """What the stream gives until nothing is left."""
    assert frame is not None and frame.isStreaming
    found: list[Any] = []
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: found.extend(batch.collect()))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode(mode)
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60) and query.exception() is None
    return found


FILES = """
name: demo
sources: {s: {type: file, path: in, format: json, schema: {id: long, who: string}%s}}
operators: [{id: f, %s}]
sinks: {out: {type: kafka, topic: out, from: f}}
"""


def test_files_row_by_row_with_lines_that_are_no_rows(quick: SparkSession, files: Path) -> None:
    made = compiled(quick, FILES % ("", "type: filter, from: s, where: id > 1"))
    assert made.row_by_row
    rows = all_of(made.written, files)
    assert [(row.output, bytes(row.value), row.key, row.timestamp) for row in rows if row.output == 0] == [
        (0, b'{"id":2,"who":"b"}', None, 0)
    ]
    dead = {
        bytes(row.value): {h["key"]: bytes(h["value"] or b"") for h in row.headers} for row in rows if row.output == 1
    }
    assert set(dead) == {b"bad", b'{"id": "x"}'}
    assert dead[b"bad"]["whorl-operator"] == b"s" and dead[b"bad"]["whorl-topic"].endswith(b"/in/a.json")


def test_files_into_an_aggregation(quick: SparkSession, files: Path) -> None:
    quick.conf.set("spark.sql.shuffle.partitions", "1")
    text = FILES % (", on_error: skip", "type: sql, mode: update, query: 'SELECT count(*) AS n FROM s'")
    rows = all_of(compiled(quick, text).written, files, "update")
    assert [bytes(row.value) for row in rows] == [b'{"n":2}']


def test_a_static_table_to_join_with(quick: SparkSession, files: Path) -> None:
    text = """
name: demo
sources:
  s: {type: rate, rows_per_second: 1}
  t: {type: file, path: in, format: json, schema: {id: long, who: string}, static: true, on_error: skip}
operators: [{id: j, type: sql, query: "SELECT s.value, t.who FROM s JOIN t ON s.value = t.id"}]
sinks: {out: {type: kafka, topic: out, from: j}}
"""
    made = compiled(quick, text)
    assert made.written is not None and made.written.isStreaming and not made.row_by_row
    assert made.schemas["out"].names == ("value", "who")


def test_a_rate_needs_whole_rows(quick: SparkSession, folder: Path) -> None:
    text = """
name: demo
sources: {s: {type: rate, rows_per_second: %s}}
operators: [{id: f, type: filter, from: s, where: value > 1, host: query}]
sinks: {out: {type: kafka, topic: out, from: f}}
"""
    assert compiled(quick, text % 2).schemas["out"].names == ("value", "timestamp")
    with pytest.raises(PipelineError, match=r"'s' gives 0\.5 rows a second, which a query cannot"):
        compiled(quick, text % 0.5)


KAFKA = """
name: demo
sources: {s: {type: kafka, topics: [t, u], schema: {id: long}%s}}
operators: [{id: f, type: filter, from: s, where: id > 1, host: query}]
sinks: {out: {type: kafka, topic: out, from: f}}
"""


def test_options_of_the_kafka_source(folder: Path) -> None:
    (input,) = component(KAFKA % "").inputs
    starts = {"s": {"t": {0: 5}, "u": {0: 0}}}
    reading = Reading(
        "host:1", {"s": ("t", "u")}, starts, {}, "dead", kafka={"kafka.client.id": "me"}, max_per_batch=10
    )
    assert _range(input, reading) == {
        "subscribe": "t,u",
        "startingOffsets": '{"t": {"0": 5}, "u": {"0": 0}}',
        "maxOffsetsPerTrigger": "10",
    }
    common = _common(reading, headers=True)
    assert common["kafka.client.id"] == "me" and common["kafka.isolation.level"] == "read_committed"
    assert common["failOnDataLoss"] == "true" and common["includeHeaders"] == "true"
    (own,) = component(KAFKA % ", max_per_batch: 3").inputs
    assert _range(own, reading)["maxOffsetsPerTrigger"] == "3"


def test_a_batch_read_again_begins_new_partitions_at_their_beginning(folder: Path) -> None:
    (input,) = component(KAFKA % "").inputs
    reading = Reading("host:1", {"s": ("t", "u")}, {"s": {"t": {0: 5}}}, {}, "dead", ends={"s": {"t": {0: 9, 1: 4}}})
    assert _range(input, reading) == {
        "assign": '{"t": [0, 1]}',
        "startingOffsets": '{"t": {"0": 5, "1": -2}}',
        "endingOffsets": '{"t": {"0": 9, "1": 4}}',
    }
