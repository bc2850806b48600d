"""Programs over whole logical partitions: what they keep, in states and in memory, is right whatever a process dies of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import OperatorFailed, PartitionProgram, Row, ValueState
from whorl.operators.program import ProgramContext
from whorl.testing import PipelineHarness

ROWS = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("x", -1), ("b", 5), ("d", 6), ("a", 7)]
TOTALS = {"a": 11, "b": 7, "c": 4, "d": 6}


class Tally(PartitionProgram):
    """Totals by name, each in the partition that the name belongs to; what is in memory is what the states hold."""

    total = ValueState(int)

    def restore(self, context: ProgramContext) -> None:
        context.memory["totals"] = dict(self.total.view().items())

    def parse(self, row: Row, context: ProgramContext) -> tuple[str, int]:
        if row["n"] < 0:
            raise ValueError("no negative numbers")
        return row["name"], row["n"]

    def process_many(self, records: list[tuple[str, int]], context: ProgramContext) -> None:
        blocks: dict[int, list[Any]] = {}
        for name, n in records:
            blocks.setdefault(context.partition_of(name.encode()), []).append([name, n])
        for partition, pairs in blocks.items():
            context.send(partition, {"pairs": pairs})

    def receive(self, messages: list[Row], context: ProgramContext) -> None:
        totals, kept = context.memory["totals"], self.total.view()
        for name, n in (pair for message in messages for pair in message["pairs"]):
            if n == 13:
                raise RuntimeError("unlucky")
            key = name.encode()
            assert context.partition_of(key) == context.partition and totals.get(key) == kept.get(key)
            totals[key] = totals.get(key, 0) + n
            kept.put(key, totals[key])
            context.emit({"name": name, "total": totals[key], "round": context.round})


def fed(folder: Path, rows: list[tuple[str, int]] = ROWS, bulk: int = 3) -> PipelineHarness:
    file = folder / "tally.yaml"
    file.write_text(f"""
name: tally
sources:
  numbers: {{type: kafka, topic: numbers, schema: {{name: string, n: long}}}}
operators:
  - {{id: tally, type: python, class: test_programs.Tally}}
sinks:
  out: {{type: kafka, topic: out, key: name, format: json}}
settings: {{bulk_records: {bulk}, commit_records: 4, state: {{backend: memory}}}}
""")
    harness = PipelineHarness(file, partitions=2, tasks=2)
    harness.send("numbers", [{"name": name, "n": n} for name, n in rows])
    return harness


def totals(harness: PipelineHarness) -> dict[str, int]:
    rows = [row for row in harness.sink("out") if row is not None]
    assert len(rows) == len(ROWS) - 1 and {row["round"] for row in rows} == {1}
    return {row["name"]: row["total"] for row in rows}


def test_records_go_where_they_belong(tmp_path: Path) -> None:
    """Nothing is sorted before a program, and one record that does not fit holds back no other."""
    harness = fed(tmp_path, bulk=100)
    assert [cut.target for cut in harness.plan.cuts] == ["tally"] and harness.plan.graph.edges[-1].feedback
    harness.run()
    assert totals(harness) == TOTALS
    assert [letter.error for letter in harness.dead()] == ["ValueError: no negative numbers"]


def test_a_crash_at_any_point(tmp_path: Path) -> None:
    undisturbed = fed(tmp_path)
    undisturbed.run()
    for point, harness in after_each_crash(undisturbed.faults.points, lambda number: fed(tmp_path)):
        assert totals(harness) == TOTALS, point
        assert len(harness.dead()) == 1, point


def test_an_error_of_a_program_ends_the_job_and_leaves_nothing(tmp_path: Path) -> None:
    harness = fed(tmp_path, [*ROWS, ("a", 13)])
    with pytest.raises(OperatorFailed, match="unlucky") as failed:
        harness.run()
    assert "test_programs.py" in failed.value.where
    assert harness.broker.open_transactions() == []
