"""Supersteps: nobody is ahead, everybody knows what all have aggregated, and a crash at any point changes neither."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, OperatorFailed, PartitionProgram, Retry, Row, ValueState
from whorl.operators.program import ProgramContext
from whorl.tasks.supersteps import Lp, SuperstepRun
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
settings: {{{settings}, state: {{backend: memory}}}}
"""
WAVE = "{id: wave, type: python, class: test_supersteps.Wave, key: key, from: [drops, wave.on], outputs: [seen, on, ends], supersteps: true}"
SINKS = "  out: {type: kafka, topic: out, from: wave.seen, format: json}\n  ends: {type: kafka, topic: ends, from: wave.ends, format: json}"
RELAY = "{id: relay, type: python, class: test_supersteps.Relay, supersteps: true}"


def fed(
    folder: Path,
    drops: list[tuple[str, int]],
    operator: str = WAVE,
    sinks: str = SINKS,
    settings: str = "bulk_records: 3",
    **options: Any,
) -> PipelineHarness:
    (folder / "waves.yaml").write_text(TEXT.format(operator=operator, sinks=sinks, settings=settings))
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
    assert not any(name.startswith("whorl") for entry in harness.records("out") for name, _ in entry.headers)
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


class Mended(Wave):
    """Cannot go on at one key until it is mended."""

    is_mended = False

    def process(self, key: str, record: Row, context: Context) -> None:
        if key == "2" and not Mended.is_mended:
            raise ValueError("not yet")
        super().process(key, record, context)


class Hesitant(Wave):
    """Wants to be asked three times at one key."""

    tries = 0

    def process(self, key: str, record: Row, context: Context) -> None:
        if key == "2" and Hesitant.tries < 2:
            Hesitant.tries += 1
            context.aggregate("amount", 1000)
            raise Retry(after=0.5)
        super().process(key, record, context)


class Later(Wave):
    """What comes from outside is sent on by a timer, a second after it came."""

    waiting = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        if context.round == 0:
            self.waiting.set(record["amount"])
            context.timers.after("1s")
        else:
            super().process(key, record, context)

    def on_timer(self, key: str, time: Any, context: Context) -> None:
        context.emit({"key": key, "amount": self.waiting.get()}, to="on")


class Merging(Wave):
    def combine(self, key: bytes, one: Row, other: Row) -> Row:
        return {**one, "amount": one["amount"] + other["amount"]}


class Rounds(KeyedOperator):
    """Tells rounds and supersteps; goes on as often as it is told."""

    def process(self, key: str, record: Row, context: Context) -> None:
        row = {"key": key, "step": context.superstep, "amount": record["amount"], "before": context.round}
        context.emit(row, to="seen")
        if record["amount"] > 0:
            context.emit({"key": str(int(key) + 1), "amount": record["amount"] - 1}, to="on")

    def on_superstep_end(self, context: Context) -> None:
        context.emit({"key": "end", "step": context.superstep, "amount": 0, "before": context.round}, to="ends")


def of(kind: str, more: str = "") -> str:
    return WAVE.replace("Wave", kind).replace("supersteps: true", f"supersteps: true{more}")


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("policy", ["fail", "{action: retry, attempts: 2, backoff: 10ms, then: fail}"])
def test_after_a_failure_that_ends_the_job_nothing_is_missing_or_double(
    tmp_path: Path, tasks: int, policy: str
) -> None:
    """A superstep is whole or nothing of it."""
    Mended.is_mended = False
    drops = [("0", 8), ("1", 4), ("2", 2)]
    harness = fed(tmp_path, drops, of("Mended", f", on_error: {policy}"), tasks=tasks)
    for _ in range(2):
        with pytest.raises(OperatorFailed, match="not yet"):
            harness.run()
    assert harness.broker.open_transactions() == []
    Mended.is_mended = True
    harness.run()
    amounts = Counter((key, amount) for _, key, amount, _ in seen(harness).elements())
    assert amounts == Counter((key, amount) for _, key, amount, _ in waves(drops).elements())


def test_one_that_must_wait_holds_its_superstep_up(tmp_path: Path) -> None:
    Hesitant.tries = 0
    harness = fed(tmp_path, [("0", 8)], of("Hesitant"), partitions=4)
    harness.run()
    assert Hesitant.tries == 2 and seen(harness) == waves([("0", 8)]) and harness.dead() == []


def test_a_timer_that_sends_begins_the_next_superstep(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("0", 4)], of("Later"))
    harness.run()
    assert seen(harness) == Counter()
    harness.clock.wait(2)
    harness.run()
    amounts = Counter((key, amount) for _, key, amount, _ in seen(harness).elements())
    assert amounts == Counter((key, amount) for _, key, amount, _ in waves([("0", 4)]).elements())


def test_messages_of_one_superstep_to_one_key_are_merged(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("0", 8), ("1", 8)], of("Merging"), partitions=1, tasks=1)
    harness.run()
    second = Counter({key: amount for step, key, amount, _ in seen(harness) if step == 2})
    assert second == {"1": 4, "2": 8, "3": 4}, "4 from 0 and 4 from 1 came to 2 as one"
    assert all(count == 1 for count in Counter((step, key) for step, key, _, _ in seen(harness).elements()).values())


def test_rounds_are_those_of_the_record_and_supersteps_those_of_the_pipeline(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("0", 3)], of("Rounds", ", max_rounds: 3"))
    harness.run()
    harness.send("drops", [{"key": "0", "amount": 4}])
    harness.run()
    rows = [row for row in harness.sink("out") if row is not None]
    assert sorted((row["step"], row["before"]) for row in rows) == [(n + 1, n % 4) for n in range(8)]
    assert {row["before"] for row in harness.sink("ends") if row is not None} == {0}
    errors = [letter.error for letter in harness.dead()]
    assert errors == ["RoundsExceeded: round 4 is beyond max_rounds 3 of 'wave'"]


def test_a_backlog_is_taken_in_bounded_bites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A superstep is one transaction, so what it takes in from outside has a bound, however much there is."""
    taken, run_superstep = [], SuperstepRun._run_superstep

    def noting(self: SuperstepRun, lp: Lp) -> None:
        taken.append(sum(len(messages) for _, messages in lp.outside))
        run_superstep(self, lp)

    monkeypatch.setattr(SuperstepRun, "_run_superstep", noting)
    drops = [(KEYS[n % 6], 2) for n in range(120)]
    harness = fed(tmp_path, drops, settings="commit_records: 10, bulk_records: 8")
    harness.run()
    assert sum(seen(harness).values()) == 120 + 240
    assert sum(taken) == 120 and max(taken) < 10 + 8
