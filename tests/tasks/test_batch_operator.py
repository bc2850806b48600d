"""Operators with state that take many records at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers_crashes import after_each_crash

from whorl import BatchOperator, Context, Row, UsageError, ValueState
from whorl.testing import OperatorHarness, PipelineHarness

PIPELINE = """
name: batches
sources:
  in: {{type: kafka, topic: in, key: who, schema: {{who: string, n: long}}}}
operators:
  - {{id: total, type: python, class: test_batch_operator.{operator}, key: who, from: in}}
sinks:
  out: {{type: kafka, topic: out, from: total}}
settings: {{state: {{backend: memory}}, bulk_records: 4}}
"""
SENT = [("a", 1), ("b", 2), ("a", 3), ("b", -1), ("a", 5), ("b", 6), ("b", 7)]
EXPECTED = [("a", 1), ("b", 2), ("a", 4), ("a", 9), ("b", 8), ("b", 15)]


class Totals(BatchOperator):
    total = ValueState(int)

    def process_batch(self, keys: list[bytes], batch: pa.RecordBatch, context: Context) -> Any:
        totals = dict(zip(keys, (before or 0 for before in self.total.get_many(keys)), strict=True))
        after = []
        for key, n in zip(keys, batch.column("n").to_pylist(), strict=True):
            if n < 0:
                raise ValueError("no negative numbers")
            totals[key] += n
            after.append(totals[key])
        self.total.put_many(keys, after)
        return batch.append_column("total", pa.array(after))


class Foreign(BatchOperator):
    total = ValueState(int)

    def process_batch(self, keys: list[bytes], batch: pa.RecordBatch, context: Context) -> Any:
        return self.total.get_many([b"somebody else's"])


def fed(folder: Path, operator: str = "Totals") -> PipelineHarness:
    file = folder / "batches.yaml"
    file.write_text(PIPELINE.format(operator=operator))
    harness = PipelineHarness(file)
    harness.send("in", [{"who": who, "n": n} for who, n in SENT])
    return harness


def written(harness: PipelineHarness) -> list[tuple[Any, Any]]:
    return [(row["who"], row["total"]) for row in harness.sink("out") if row]


def test_many_at_once_and_the_one_that_fails_alone(tmp_path: Path) -> None:
    harness = fed(tmp_path)
    harness.run()
    assert written(harness) == EXPECTED
    (letter,) = harness.dead()
    assert (letter.offset, letter.error) == (3, "ValueError: no negative numbers")


def test_a_crash_at_any_point(tmp_path: Path) -> None:
    undisturbed = fed(tmp_path)
    undisturbed.run()
    for point, harness in after_each_crash(undisturbed.faults.points, lambda _: fed(tmp_path)):
        assert written(harness) == EXPECTED, point


def test_keys_of_other_records_are_refused(tmp_path: Path) -> None:
    harness = fed(tmp_path, "Foreign")
    harness.run()
    assert harness.sink("out") == [] and len(harness.dead()) == len(SENT)
    assert 'was asked for the key b"somebody else\'s", which no record here has' in harness.dead()[0].error


def rows(sent: list[tuple[str, int]]) -> list[tuple[str, Row]]:
    return [(who, {"who": who, "n": n}) for who, n in sent]


def test_on_the_harness() -> None:
    """A batch is kept whole or not at all, commits and crashes are as with any operator, and rows are as in a pipeline."""
    harness = OperatorHarness(Totals)
    made = harness.send_many(rows(SENT[:3]))
    assert [(row["who"], row["total"]) for row in made] == EXPECTED[:3]
    with pytest.raises(ValueError, match="no negative numbers"):
        harness.send_many(rows(SENT[3:]))
    assert (harness.state("a", "total"), harness.state("b", "total"), len(harness.rows)) == (4, 2, 3)
    harness.commit()
    assert [row["total"] for row in harness.send("a", {"n": 5})] == [9]
    harness.crash()
    assert (harness.state("a", "total"), harness.state("b", "total")) == (9, 2)
    assert [metadata.key for _, _, metadata in harness.emitted] == [b"a", b"b", b"a", b"a"]


def test_on_the_harness_too_few_results_are_an_error() -> None:
    class Short(BatchOperator):
        total = ValueState(int)

        def process_batch(self, keys: list[bytes], batch: pa.RecordBatch, context: Context) -> Any:
            self.total.put_many(keys, [1] * len(keys))
            return batch.to_pylist()[1:]

    harness = OperatorHarness(Short)
    with pytest.raises(TypeError, match="a bulk of 2 rows needs a list of as many results"):
        harness.send_many(rows(SENT[:2]))
    assert harness.state("a", "total") is None


def test_other_operators_get_many_one_by_one() -> None:
    harness = OperatorHarness.of("count", key="who")
    assert harness.send_many([(None, row) for _, row in rows(SENT[:3])]) == [
        {"who": "a", "count": 1},
        {"who": "b", "count": 1},
        {"who": "a", "count": 2},
    ]


def test_limits_are_not_for_it() -> None:
    with pytest.raises(UsageError, match="'max_keys' and 'max_bytes' are not for a BatchOperator"):
        OperatorHarness(Totals, max_keys=2)
