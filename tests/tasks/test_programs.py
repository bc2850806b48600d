"""Programs over whole logical partitions: what they keep, in states and in memory, is right whatever a process dies of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, OperatorFailed, PartitionProgram, Row, ValueState
from whorl.operators.program import ProgramContext
from whorl.testing import PipelineHarness
from whorl.testing.memory import MemoryClients

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


class Strict(Tally):
    """Takes no negative number until it is mended."""

    is_mended = False

    def parse(self, row: Row, context: ProgramContext) -> tuple[str, int]:
        if row["n"] < 0 and Strict.is_mended:
            return row["name"], 0
        return super().parse(row, context)


class Roundabout(PartitionProgram):
    """Sends to both partitions; what comes to the second goes on to the first, where it arrives a round later."""

    seen = ValueState(int)

    def process_many(self, records: list[Row], context: ProgramContext) -> None:
        for record in records:
            for partition in (1, 0) if record["n"] else ():
                context.send(partition, {"name": record["name"], "way": partition})

    def receive(self, messages: list[Row], context: ProgramContext) -> None:
        for message in messages:
            context.emit({"name": message["name"], "total": message["way"], "round": context.partition})
            if context.partition == 1:
                context.send(0, message)


def fed(
    folder: Path,
    rows: list[tuple[str, int]] = ROWS,
    bulk: int = 3,
    kind: str = "Tally",
    more: str = "",
    commit: int = 4,
    **options: Any,
) -> PipelineHarness:
    file = folder / "tally.yaml"
    file.write_text(f"""
name: tally
sources:
  numbers: {{type: kafka, topic: numbers, schema: {{name: string, n: long}}}}
operators:
  - {{id: tally, type: python, class: test_programs.{kind}{more}}}
sinks:
  out: {{type: kafka, topic: out, key: name, format: json}}
settings: {{bulk_records: {bulk}, commit_records: {commit}, state: {{backend: memory}}}}
""")
    harness = PipelineHarness(file, **{"partitions": 2, "tasks": 2, **options})
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


def test_after_a_record_that_ends_the_job_nothing_is_missing_or_double(tmp_path: Path) -> None:
    """Neither what went before it in the same bulk, nor the dead letter of another."""
    Strict.is_mended = False
    harness = fed(tmp_path, [], 100, "Strict", ", on_error: fail", partitions=1, tasks=1)
    producer = MemoryClients(harness.broker).producer()
    for value in (b'{"name": "a", "n": 1}', b"no json", b'{"name": "b", "n": -1}', b'{"name": "c", "n": 3}'):
        producer.produce("numbers", value)
    producer.flush()
    for _ in range(2):
        with pytest.raises(OperatorFailed, match="no negative numbers"):
            harness.run()
    Strict.is_mended = True
    harness.run()
    assert Counter((row["name"], row["total"]) for row in harness.sink("out") if row) == Counter(
        {("a", 1): 1, ("b", 0): 1, ("c", 3): 1}
    )
    assert len(harness.dead()) == 1


def test_too_many_rounds_that_end_the_job_lose_no_message(tmp_path: Path) -> None:
    """Those of the same bulk that came before it are with the program already."""
    rows = [("", 0)] * 6 + [("a", 1)]
    harness = fed(tmp_path, rows, 1, "Roundabout", ", max_rounds: 1, on_error: fail", commit=100, tasks=1)
    for _ in range(2):
        with pytest.raises(OperatorFailed, match="max_rounds 1"):
            harness.run()
    assert len(harness.records("out")) == 2, "each that came before, once"
    more = fed(tmp_path, [], 1, "Roundabout", tasks=1, broker=harness.broker)
    more.run()
    seen = Counter((row["total"], row["round"]) for row in more.sink("out") if row)
    assert seen == Counter([(1, 1), (0, 0), (1, 0)])


EVENTS = """
name: both
sources:
  links: {type: kafka, topic: links, key: one, schema: {one: string, other: string, at: timestamp}, watermark: {column: at, delay: 0s}}
operators:
  - {id: rings, type: connected_components, from: links, source: one, target: other}
  - {id: visits, type: sessionize, from: links, key: one, gap: 10s, time: at}
sinks:
  labels: {type: kafka, topic: labels, from: rings, format: json}
  sessions: {type: kafka, topic: sessions, from: visits, format: json}
settings: {state: {backend: memory}}
"""


def test_event_time_goes_on_beside_a_program(tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(EVENTS)
    harness = PipelineHarness(file)
    assert len(harness.plan.components) == 1
    links = [("a", "b", 0), ("a", "c", 5), ("d", "e", 40), ("d", "b", 80)]
    harness.send("links", [{"one": one, "other": other, "at": f"2026-01-05T12:{at // 60:02}:{at % 60:02}Z"} for one, other, at in links])  # fmt: skip
    harness.run()
    assert [(row["one"], row["count"]) for row in harness.sink("sessions") if row] == [("a", 2), ("d", 1)]
    labels = {row["vertex"]: row["component"] for row in harness.sink("labels") if row}
    assert labels == dict.fromkeys("abcde", "a")


class Forward(KeyedOperator):
    """Gives a row to a program when its time has come."""

    row = ValueState(dict)

    def process(self, key: str, record: Row, context: Context) -> None:
        self.row.set(record)
        context.timers.after("1s")

    def on_timer(self, key: str, time: Any, context: Context) -> None:
        context.emit(self.row.get())


def test_what_a_timer_gives_to_a_program_is_processed_before_the_commit(tmp_path: Path) -> None:
    file = tmp_path / "later.yaml"
    file.write_text("""
name: later
sources:
  numbers: {type: kafka, topic: numbers, key: name, schema: {name: string, n: long}}
operators:
  - {id: wait, type: python, class: test_programs.Forward, key: name, returns: {name: string, n: long}}
  - {id: tally, type: python, class: test_programs.Tally}
sinks:
  out: {type: kafka, topic: out, key: name, format: json}
settings: {state: {backend: memory}}
""")
    harness = PipelineHarness(file, partitions=2, tasks=1)
    assert len(harness.plan.components) == 1
    harness.send("numbers", [{"name": name, "n": n} for name, n in [("a", 1), ("b", 2), ("c", 3)]])
    harness.run()
    harness.clock.wait(2)
    harness.run()
    assert {row["name"]: row["total"] for row in harness.sink("out") if row} == {"a": 1, "b": 2, "c": 3}
