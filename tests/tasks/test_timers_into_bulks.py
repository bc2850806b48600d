"""What a timer emits into a step that takes many rows at once is part of the timer, as what a record emits is part of the record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, OperatorFailed, PartitionProgram, Row, ValueState
from whorl.operators.program import ProgramContext
from whorl.testing import PipelineHarness

PIPELINE = """
name: rung
sources:
  in: {{type: kafka, topic: in, key: who, schema: {{who: string, n: long, at: timestamp}}, watermark: {{column: at, delay: 0s}}}}
operators:
  - {{id: bell, type: python, class: test_timers_into_bulks.{bell}, key: who, from: in}}
  - {{id: many, type: python, {many}, from: bell}}
sinks:
  out: {{type: kafka, topic: out, from: many}}
settings: {{state: {{backend: memory}}}}
"""
FUNCTION = "function: test_timers_into_bulks.doubled, per: bulk"
PROGRAM = "class: test_timers_into_bulks.Doubled"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SENT = [("a", 1, 0), ("b", 2, 10), ("c", 3, 20), ("a", 4, 30)]
EXPECTED = [("a", 10), ("c", 6)]


class Bell(KeyedOperator):
    """Says nothing until a minute has passed; then the sum so far."""

    total = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        self.total.update(lambda before: (before or 0) + record["n"])
        context.timers.after("1m")

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        context.emit({"who": key, "n": self.total.get()})


class EventBell(Bell):
    def process(self, key: str, record: Row, context: Context) -> None:
        self.total.update(lambda before: (before or 0) + record["n"])
        context.timers.at(record["at"].replace(second=0) + timedelta(minutes=1))


def doubled(rows: list[Row]) -> list[Row]:
    if any(row["n"] == 2 for row in rows):
        raise ValueError("not this one")
    return [{**row, "n": 2 * row["n"]} for row in rows]


class Doubled(PartitionProgram):
    def parse(self, row: Row, context: ProgramContext) -> Row:
        return doubled([row])[0]

    def process_many(self, records: list[Row], context: ProgramContext) -> None:
        for row in records:
            context.emit(row)

    def receive(self, messages: list[Row], context: ProgramContext) -> None:
        raise AssertionError("nobody sends any")


def rows(sent: list[tuple[str, int, int]]) -> list[Row]:
    return [{"who": who, "n": n, "at": NOON + timedelta(seconds=s)} for who, n, s in sent]


def set_up(folder: Path, many: str, bell: str = "Bell") -> PipelineHarness:
    """All is read and committed, and then a minute passes."""
    file = folder / "rung.yaml"
    file.write_text(PIPELINE.format(many=many, bell=bell))
    harness = PipelineHarness(file)
    assert len(harness.plan.components) == 1
    harness.send("in", rows(SENT))
    harness.run()
    assert harness.sink("out") == []
    harness.clock.wait(61)
    return harness


def written(harness: PipelineHarness) -> list[tuple[str, int]]:
    return [(row["who"], row["n"]) for row in harness.sink("out") if row]


@pytest.mark.parametrize("many", [FUNCTION, PROGRAM])
def test_rows_of_timers_arrive_also_after_a_crash(tmp_path: Path, many: str) -> None:
    """Each timer is tried alone, so that what the others emit is not lost with one that fails."""
    undisturbed = set_up(tmp_path, many)
    undisturbed.run()
    assert written(undisturbed) == EXPECTED
    for point, harness in after_each_crash(undisturbed.faults.points, lambda _: set_up(tmp_path, many)):
        assert written(harness) == EXPECTED, point
        (dead,) = harness.dead()
        assert (dead.operator, dead.key, dead.error) == ("many", b"b", "ValueError: not this one")


@pytest.mark.parametrize("many", [FUNCTION, PROGRAM])
def test_in_event_time(tmp_path: Path, many: str) -> None:
    """The record that makes timers due fails; what they emitted is not its own."""
    harness = set_up(tmp_path, many, "EventBell")
    harness.send("in", [{"who": "c", "n": None, "at": NOON + timedelta(minutes=1)}])
    harness.run()
    assert written(harness) == EXPECTED
    assert sorted(dead.operator for dead in harness.dead()) == ["bell", "many"]


def test_one_that_fails_ends_the_run_where_the_step_says_so(tmp_path: Path) -> None:
    with pytest.raises(OperatorFailed, match=r"'many'.*not this one"):
        set_up(tmp_path, f"{FUNCTION}, on_error: fail").run()
