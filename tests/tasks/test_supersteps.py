"""Supersteps: nobody is ahead, everybody knows what all have aggregated, and a crash at any point changes neither."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, PartitionProgram, Row, ValueState
from whorl.operators.program import ProgramContext
from whorl.testing import PipelineHarness

KEYS = [str(number) for number in range(6)]


class Wave(KeyedOperator):
    """Each key passes on half of what it got; all of them know how much was there in the superstep before."""

    got = ValueState(int)
    aggregators = {"amount": "sum", "most": "max"}

    def process(self, key: str, record: Row, context: Context) -> None:
        if record["amount"] < 0:
            context.aggregate("amount", 1000)
            raise ValueError("negative")
        self.got.set((self.got.get() or 0) + record["amount"])
        context.aggregate("amount", record["amount"])
        context.aggregate("most", record["amount"])
        context.emit({"key": key, "step": context.superstep, "amount": record["amount"], "before": context.aggregated("amount")}, to="seen")  # fmt: skip
        for turn in (1, 2) if record["amount"] > 1 else ():
            context.emit({"key": str((int(key) + turn) % 6), "amount": record["amount"] // 2}, to="on")

    def on_superstep_end(self, context: Context) -> None:
        context.emit(
            {"key": "end", "step": context.superstep, "amount": 0, "before": context.aggregated("most")}, to="ends"
        )


class Relay(PartitionProgram):
    """Sends on what it gets, to the next partition, one less each time."""

    last = ValueState(int)
    aggregators = {"left": "sum"}

    def process_many(self, records: list[Row], context: ProgramContext) -> None:
        self._on([record["amount"] for record in records], context)

    def receive(self, messages: list[Row], context: ProgramContext) -> None:
        self._on([message["left"] for message in messages], context)

    def _on(self, amounts: list[int], context: ProgramContext) -> None:
        for left in amounts:
            context.aggregate("left", left)
            context.emit({"step": context.superstep, "amount": left, "before": context.aggregated("left")})
            if left > 0:
                context.send((context.partition + 1) % context.partitions, {"left": left - 1})
        self.last.view().put(b"step", context.superstep)


TEXT = """
name: waves
sources:
  drops: {{type: kafka, topic: drops, key: key, schema: {{key: string, amount: long}}}}
operators:
  - {operator}
sinks:
{sinks}
settings: {{bulk_records: 3, state: {{backend: memory}}}}
"""
WAVE = "{id: wave, type: python, class: test_supersteps.Wave, key: key, from: [drops, wave.on], outputs: [seen, on, ends], supersteps: true}"
SINKS = "  out: {type: kafka, topic: out, from: wave.seen, format: json}\n  ends: {type: kafka, topic: ends, from: wave.ends, format: json}"
RELAY = "{id: relay, type: python, class: test_supersteps.Relay, supersteps: true}"


def fed(folder: Path, drops: list[tuple[str, int]], operator: str = WAVE, sinks: str = SINKS, **options: Any) -> PipelineHarness:  # fmt: skip
    (folder / "waves.yaml").write_text(TEXT.format(operator=operator, sinks=sinks))
    harness = PipelineHarness(folder / "waves.yaml", **{"partitions": 2, "tasks": 2, **options})
    harness.send("drops", [{"key": key, "amount": amount} for key, amount in drops])
    return harness


def seen(harness: PipelineHarness) -> Counter[tuple[Any, ...]]:
    rows = [row for row in harness.sink("out") if row is not None]
    return Counter((row["step"], row.get("key", ""), row["amount"], row["before"]) for row in rows)


def waves(first: list[tuple[str, int]]) -> Counter[tuple[Any, ...]]:
    expected: Counter[tuple[Any, ...]] = Counter()
    now, before, step = list(first), None, 1
    while now:
        expected.update((step, key, amount, before) for key, amount in now)
        before, step = sum(amount for _, amount in now), step + 1
        now = [(str((int(key) + t) % 6), amount // 2) for key, amount in now if amount > 1 for t in (1, 2)]
    return expected


def test_nobody_is_ahead_and_all_know_the_same(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("0", 8)], partitions=4)
    harness.run()
    assert seen(harness) == waves([("0", 8)])
    ends = [row for row in harness.sink("ends") if row is not None]
    assert Counter(row["step"] for row in ends) == dict.fromkeys(range(1, 5), 4), "each partition ends each superstep"
    assert {(row["step"], row["before"]) for row in ends} == {(1, None), (2, 8), (3, 4), (4, 2)}


def test_at_rest_until_something_comes_from_outside(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("0", 2)])
    harness.run()
    harness.run()
    harness.send("drops", [{"key": "3", "amount": 4}, {"key": "1", "amount": -1}])
    harness.run()
    steps = {step for step, key, amount, _ in seen(harness) if (key, amount) == ("3", 4)}
    (step,) = steps
    assert step > 2, "supersteps go on where they were"
    assert sum(seen(harness).values()) == 3 + 7
    assert [letter.error for letter in harness.dead()] == ["ValueError: negative"]
    later = {before for at, _, _, before in seen(harness) if at == step + 1}
    assert later == {4}, "what a record that failed has aggregated does not count"


def test_a_program_by_supersteps(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("0", 3)], RELAY, "  out: {type: kafka, topic: out, format: json}")
    harness.run()
    assert seen(harness) == Counter({(1, "", 3, None): 1, (2, "", 2, 3): 1, (3, "", 1, 2): 1, (4, "", 0, 1): 1})


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_crash_at_any_point(tmp_path: Path, tasks: int) -> None:
    drops = [("0", 2)]
    undisturbed = fed(tmp_path, drops, tasks=tasks)
    undisturbed.run()
    for point, harness in after_each_crash(undisturbed.faults.points, lambda number: fed(tmp_path, drops, tasks=tasks)):
        assert seen(harness) == waves(drops), point
