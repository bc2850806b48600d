"""Operators with state that take many records at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from helpers_crashes import after_each_crash

from whorl import BatchOperator, Context, ValueState
from whorl.testing import PipelineHarness

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
