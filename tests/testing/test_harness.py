"""Pipelines in memory: what goes in, what comes out, and what a crash leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from whorl.errors import CheckFailed, OperatorFailed, UsageError, WorldError
from whorl.testing import Crash, Given, PipelineHarness

ORDERS = """
name: shop
sources:
  orders: {type: kafka, topic: orders, key: customer, schema: {id: long, customer: string, amount: double, at: timestamp}}
operators:
  - {id: large, type: filter, from: orders, where: amount > 10}
sinks:
  out: {type: kafka, topic: out, from: large}
  screen: {type: console, from: large}
"""


@pytest.fixture
def harness_of(tmp_path: Path):
    def make(text: str, steps: str = "", **options) -> PipelineHarness:
        (tmp_path / "pipeline.yaml").write_text(text)
        (tmp_path / "steps.py").write_text(steps)
        return PipelineHarness(tmp_path / "pipeline.yaml", **options)

    return make


def test_rows_go_in_and_come_out_typed(harness_of):
    harness = harness_of(ORDERS)
    harness.send(
        "orders", [{"id": 1, "customer": "ada", "amount": 20, "at": "2026-01-01T00:00:00Z"}, {"id": 2, "amount": 3}]
    )
    harness.run()
    (row,) = harness.sink("out")
    assert (row["id"], row["amount"], row["at"].isoformat()) == (1, 20.0, "2026-01-01T00:00:00+00:00")
    assert harness.sink("screen") == [row]
    assert harness.dead() == []


def test_a_run_goes_on_where_the_last_one_ended(harness_of):
    harness = harness_of(ORDERS)
    for id in (1, 2):
        harness.send("orders", [{"id": id, "amount": 20.0}])
        harness.run()
    harness.run()
    assert [row["id"] for row in harness.sink("out")] == [1, 2]


def test_records_keep_key_headers_and_timestamp(harness_of):
    harness = harness_of(ORDERS)
    row = {"id": 1, "customer": "ada", "amount": 20.0}
    harness.send("orders", [row, Given(row, key="bob", headers={"trace": "7"}, timestamp=1000), Given(row, key=None)])
    harness.run()
    first, second, third = harness.records("out")
    assert first.key == b"ada", "the source says which column its key holds"
    assert (second.key, second.headers, second.timestamp) == (b"bob", (("trace", b"7"),), 1000)
    assert third.key is None


def test_bad_records_are_dead_letters(harness_of):
    harness = harness_of(ORDERS)
    harness.send("orders", [Given("no json", key="k"), Given(None), {"id": 3, "amount": 30.0}])
    harness.run()
    assert [row["id"] for row in harness.sink("out")] == [3]
    broken, tombstone = harness.dead()
    assert (broken.operator, broken.topic, broken.partition, broken.offset) == ("orders", "orders", 0, 0)
    assert (broken.key, broken.value) == (b"k", b"no json")
    assert "not JSON" in broken.error
    assert tombstone.value is None


def test_user_code_is_found_beside_the_pipeline_and_imported_anew_each_run(harness_of):
    text = """
sources: {in: {type: kafka, topic: in, schema: {n: long}}}
operators: [{id: count, type: python, function: steps.count}]
sinks: {out: {type: list}}
"""
    harness = harness_of(text, "seen = []\ndef count(row):\n    seen.append(1)\n    return {'n': len(seen)}\n")
    for _ in range(2):
        harness.send("in", [{"n": 0}, {"n": 0}])
        harness.run()
    assert [row["n"] for row in harness.sink("out")] == [1, 2, 1, 2]
    assert "steps" not in sys.modules


def test_generated_sources_take_their_own_rows_or_those_sent(harness_of):
    text = """
sources:
  own: {type: list, rows: [{n: 1}, {n: 2}], keys: [a, b]}
  ticks: {type: rate, limit: 5}
operators:
  - {id: both, type: union, from: [own, ticks]}
sinks: {out: {type: list}}
"""
    harness = harness_of(text)
    harness.run()
    assert harness.sink("out") == [{"n": 1}, {"n": 2}]
    harness.send("ticks", [{"value": 7, "timestamp": "2026-01-01T00:00:00Z"}])
    harness.run()
    assert [row.get("value") for row in harness.sink("out")] == [None, None, 7]


def test_topics_of_a_pattern_are_named_when_sent(harness_of):
    text = "sources: {in: {type: kafka, pattern: 'in[.].*', format: text}}\nsinks: {out: {type: list}}"
    harness = harness_of(text)
    with pytest.raises(UsageError, match="pattern"):
        harness.send("in", [{"value": "x"}])
    harness.send("in", [{"value": "x"}], topic="in.a")
    harness.send("in", [{"value": "y"}], topic="in.b")
    harness.run()
    assert sorted(row["value"] for row in harness.sink("out")) == ["x", "y"]


def test_a_crash_loses_and_doubles_nothing(harness_of):
    harness = harness_of(ORDERS, partitions=2)
    harness.send("orders", [Given({"id": id, "amount": 20.0}, key=str(id % 3)) for id in range(9)])
    harness.crash_at(40)
    with pytest.raises(Crash):
        harness.run()
    assert len(harness.faults.points) == 40
    harness.run()
    assert sorted(row["id"] for row in harness.sink("out")) == list(range(9))


def test_waiting_takes_no_time(harness_of):
    """Backoffs of minutes pass at once, and an operator that asks for one more try for ever is told of."""
    text = """
sources: {in: {type: kafka, topic: in, schema: {n: long}}}
operators: [{id: call, type: python, function: steps.call}]
sinks: {out: {type: list}}
"""
    harness = harness_of(text, "import whorl\ndef call(row):\n    raise whorl.Retry(after=600)\n")
    harness.send("in", [{"n": 1}])
    before = harness.clock()
    with pytest.raises(WorldError, match="still waits"):
        harness.run()
    assert harness.clock() - before >= 3600
    assert harness.broker.open_transactions() == []


def test_what_fails_the_pipeline_is_raised_with_the_users_line(harness_of):
    text = """
sources: {in: {type: kafka, topic: in, schema: {n: long}}}
operators: [{id: call, type: python, function: steps.call, on_error: fail}]
sinks: {out: {type: list}}
"""
    harness = harness_of(
        text, "def call(row):\n    if row['n'] == 2:\n        raise ValueError('no twos')\n    return row\n"
    )
    harness.send("in", [{"n": 1}, {"n": 2}, {"n": 3}])
    with pytest.raises(OperatorFailed, match="no twos") as failed:
        harness.run()
    assert failed.value.where.endswith("steps.py:3")
    assert failed.value.position == "in/0/1"
    assert harness.sink("out") == [{"n": 1}], "what went before is done"
    assert harness.broker.open_transactions() == []


def test_an_operator_that_does_not_open_names_itself(harness_of):
    text = """
sources: {in: {type: kafka, topic: in, schema: {n: long}}}
operators: [{id: call, type: python, class: steps.Call}]
sinks: {out: {type: list}}
"""
    steps = "class Call:\n    def open(self):\n        raise OSError('no door')\n    def process(self, row):\n        return row\n"
    harness = harness_of(text, steps)
    with pytest.raises(OperatorFailed, match="operator 'call' failed: OSError: no door"):
        harness.run()


def test_wrong_names_and_rows_are_told(harness_of):
    harness = harness_of(ORDERS)
    with pytest.raises(UsageError, match=r"no source 'order'.*orders"):
        harness.send("order", [])
    with pytest.raises(UsageError, match=r"no sink 'ou'.*out"):
        harness.sink("ou")
    with pytest.raises(CheckFailed):
        harness_of(ORDERS.replace("amount > 10", "amont > 10"))


def test_testing_needs_no_spark():
    code = (
        "import sys, whorl.testing, whorl.cli.test; sys.exit(any(name.startswith('pyspark') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
