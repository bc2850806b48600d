"""A pipeline whose operator becomes of another version: a crash at any point of its next life leaves nothing half migrated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, Row, ValueState
from whorl.errors import OperatorFailed
from whorl.testing import PipelineHarness

PIPELINE = """
name: versions
sources:
  in: {type: kafka, topic: in, key: k, schema: {k: string, n: long}}
operators:
  - {id: total, type: python, class: test_versions_tasks.Cents, key: k}
sinks:
  out: {type: kafka, topic: out, from: total}
settings: {state: {backend: memory}, commit_records: 3, bulk_records: 2}
"""


class Whole(KeyedOperator):
    total = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        total = self.total.update(lambda before: (before or 0) + record["n"])
        context.emit({"k": key, "total": total})


class Cents(Whole):
    """What was kept by the version before is a hundredth: migrated twice it would be wrong."""

    version = 2

    def migrate(self, state: str, key: str, value: Any, version: int) -> Any:
        return value * 100


class Text(Whole):
    total = ValueState(str)  # type: ignore[assignment]


def prepared(folder: Path, kind: str = "Cents") -> PipelineHarness:
    """It has run with whole numbers, and goes on with others."""
    before, now = folder / "before.yaml", folder / "now.yaml"
    before.write_text(PIPELINE.replace("Cents", "Whole"))
    now.write_text(PIPELINE.replace("Cents", kind))
    first = PipelineHarness(before)
    first.send("in", [{"k": key, "n": n} for n, key in enumerate("abab")])
    first.run()
    harness = PipelineHarness(now, first.broker)
    harness.send("in", [{"k": key, "n": 1} for key in "aabbca"])
    return harness


def written(harness: PipelineHarness) -> list[tuple[str, int]]:
    return [(row["k"], row["total"]) for row in harness.sink("out") if row][4:]


EXPECTED = [("a", 201), ("a", 202), ("b", 401), ("b", 402), ("c", 1), ("a", 203)]


def test_a_crash_at_any_call_to_kafka(tmp_path: Path) -> None:
    undisturbed = prepared(tmp_path)
    undisturbed.run()
    assert written(undisturbed) == EXPECTED
    for point, harness in after_each_crash(undisturbed.faults.points, lambda _: prepared(tmp_path)):
        assert written(harness) == EXPECTED, point


def test_what_does_not_fit_ends_the_run_and_nothing_is_lost(tmp_path: Path) -> None:
    """Though `on_error` is the default, which makes a dead letter of a record that fails."""
    harness = prepared(tmp_path, "Text")
    with pytest.raises(OperatorFailed, match="'total' of 'total' holds something else for the key b'a'"):
        harness.run()
    assert harness.dead() == []
    mended = PipelineHarness(tmp_path / "before.yaml", harness.broker)
    mended.run()
    assert written(mended) == [("a", 3), ("a", 4), ("b", 5), ("b", 6), ("c", 1), ("a", 5)]
