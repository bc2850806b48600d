"""The law of operators with state: what a query gives, record by record and key by key, is what tasks give.

The watermark of a query moves with its batches, so no record here depends on one of another key that came shortly before it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import kept_steps
import pytest
from pyspark.sql import SparkSession
from streams import Streamed

from whorl.plan.plan import Input
from whorl.query import compile as compiling
from whorl.query.decode import decoded
from whorl.reading.entries import Entry
from whorl.testing import Given

pytestmark = pytest.mark.spark
Make = Callable[[str], Streamed]
SCHEMA = "{who: string, x: double, n: long, at: timestamp, m: 'decimal(10,2)', tags: 'map<string,int>'}"


@pytest.fixture(scope="module")
def code(spark: SparkSession) -> None:
    spark.sparkContext.addPyFile(kept_steps.__file__)


@pytest.fixture
def streamed(quick: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: None) -> Make:
    monkeypatch.chdir(tmp_path)

    def make(text: str) -> Streamed:
        made = Streamed(quick, tmp_path, text)

        def stream_of(session: SparkSession, input: Input, reading: Any, *, headers: bool) -> Any:
            return decoded(made.frame(session, input), input)

        monkeypatch.setattr(compiling, "stream_of", stream_of)
        return made

    return make


def pipeline(operators: dict[str, str]) -> str:
    """Each of them reads the source and has a sink of its own, which has its name."""
    mark = "watermark: {column: at, delay: 0s}"
    return "\n".join(
        [
            f"name: demo\nsources: {{s: {{type: kafka, topic: s, key: who, schema: {SCHEMA}, {mark}}}}}\noperators:",
            *(f"  - {{id: {id}, from: s, host: HOST, {options}}}" for id, options in operators.items()),
            "sinks:",
            *(f"  to_{id}: {{type: kafka, topic: {id}, from: {id}}}" for id in operators),
        ]
    )


def row(who: str | None, x: float, seconds: int, **more: Any) -> dict[str, Any]:
    at = f"2026-01-05T12:{seconds // 60:02}:{seconds % 60:02}Z"
    return {"who": who, "x": x, "n": round(x), "at": at, "m": f"{x:.2f}", "tags": {"a": 1}, **more}


PYTHON = "type: python, class: kept_steps.{}, returns: {{who: string, what: string}}"
BATCHES = [
    [row("a", 1.5, 0), row("b", 1.0, 0), row("a", 2.5, 2), row("c", 0.5, 3)],
    [row("a", -0.5, 30), row("b", 4.0, 31), row("a", 3.0, 31)],
    [row("b", 1.0, 90), row("a", 2.0, 90), row("b", 0.0, 91), row("a", 2.0, 5)],
]
"""Long silences between the batches; the last record is late."""
OPERATORS = {
    "first": "type: deduplicate, message_id: [who, n], ttl: 60s, ttl_time: event",
    "diary": PYTHON.format("Diary"),
    "several": PYTHON.format("Several") + ", outputs: [large, all]",
}


def test_several_operators_in_three_batches_and_two_runs(streamed: Make) -> None:
    sinks = "  to_shout: {type: kafka, topic: shouted, from: shout}\n  to_large: {type: kafka, topic: large, from: several.large}"
    text = pipeline(OPERATORS).replace("from: several}", "from: several.all}")
    text = text.replace("sinks:", "  - {id: shout, type: map, from: several.all, columns: {what: upper(what)}}\nsinks:")
    stream = streamed(f"{text}\n{sinks}\n")
    for batch in BATCHES[:2]:
        stream.send("s", batch)
    stream.query()
    stream.send("s", BATCHES[2])
    written = stream.same()
    assert [record[1] for record in written["first"]].count(b'["a",2]') == 2, "it is forgotten after a minute"
    assert any("00:10 after" in record[2]["what"] for record in written["diary"])
    assert {record[1] for record in written["large"]} == {b"large a", b"large b"} and written["shouted"]
    assert not written["demo.dead"]
    for operator in OPERATORS:
        tasks, query = stream.kept(operator)
        assert _told(query) <= _told(tasks)
        assert _told(query, lasting=True) == _told(tasks, lasting=True)
    assert {entry.state for entry in stream.kept("diary")[1]} > {"seen", "xs", "by"}


def _told(entries: list[Entry], lasting: bool = False) -> set[str]:
    """`lasting`: without what ends, which is gone when the watermark says so, and that of a query moves from batch to batch."""
    told = [entry for entry in entries if not lasting or entry.expires is None]
    return {str((e.operator, e.state, e.key, e.map_key, e.value, e.expires, e.size)) for e in told}


NO_KEY = Given(row(None, 9.0, 90), key=None)


def test_a_record_or_a_timer_that_fails_leaves_a_dead_letter_and_nothing_else(streamed: Make) -> None:
    stream = streamed(pipeline({"touchy": PYTHON.format("Touchy") + ", key: who"}))
    for batch in BATCHES[:2]:
        stream.send("s", [*batch, NO_KEY, Given("no json", key="a")])
    written = stream.same()
    letters = [dict(record[4]) for record in written["demo.dead"]]
    assert [letter["whorl-operator"] for letter in letters].count(b"touchy") > 3
    assert any("whorl-topic" not in letter for letter in letters), "a timer has no place"


def test_rows_of_one_record_stay_in_order_and_what_is_skipped_leaves_nothing(streamed: Make) -> None:
    text = f"""
name: demo
sources: {{s: {{type: kafka, topic: s, key: who, schema: {SCHEMA}}}}}
operators:
  - {{id: each, type: flat_map, from: s, explode: 'array(x, x * 3, x * 2)', as: x}}
  - {{id: counted, from: each, host: HOST, {PYTHON.format("Counted")}, on_error: skip}}
sinks: {{out: {{type: kafka, topic: out, from: counted}}}}
"""
    stream = streamed(text)
    stream.send("s", [*BATCHES[0], row("a", -1.0, 9), NO_KEY])
    written = stream.same()
    told = [record[2]["what"] for record in written["out"] if record[1] == b"c"]
    assert not written["demo.dead"] and told == ["1 0.5", "2 1.5", "3 1.0"]
