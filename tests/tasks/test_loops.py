"""Loops in tasks: whatever call of a Kafka client is a process's last one, every message goes round exactly once."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, ListState, OperatorFailed, Retry, Row, ValueState
from whorl.tasks.signals import Figures, Orders
from whorl.testing import PipelineHarness


class Walk(KeyedOperator):
    """Goes on to the next of ten places as long as it has steps left; counts who came by."""

    visits = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        visits = self.visits.update(lambda before: (before or 0) + 1)
        context.emit({"place": key, "walk": record["walk"], "visits": visits, "round": context.round}, to="seen")
        if record["left"] > 0:
            context.emit({**record, "place": str((int(key) + 3) % 10), "left": record["left"] - 1}, to="on")


class Stumbling(Walk):
    """Must be asked twice at one place, and never gets past another."""

    tries = 0

    def process(self, key: str, record: Row, context: Context) -> None:
        if key == "5" and record["walk"] == "b":
            raise ValueError("a wall")
        if key == "9" and record["walk"] == "a" and Stumbling.tries < 2:
            Stumbling.tries += 1
            raise Retry(after=1.0)
        super().process(key, record, context)


class Order(KeyedOperator):
    """Sends numbers to one place, and keeps them there in the order they come in."""

    came = ListState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        if record["place"] == "end":
            self.came.append(record["n"])
            context.emit({"came": self.came.get()}, to="seen")
        else:
            for n in range(record["n"], record["n"] + 4):
                context.emit({"place": "end", "walk": "", "left": 0, "n": n}, to="on")


class Stopping(Walk):
    """Cannot go on at one place until it is mended."""

    is_mended = False

    def process(self, key: str, record: Row, context: Context) -> None:
        if key == "7" and record["walk"] == "a" and not Stopping.is_mended:
            raise ValueError("not yet")
        super().process(key, record, context)


class TwoSpeeds(Walk):
    """Every other step takes the longer way."""

    def process(self, key: str, record: Row, context: Context) -> None:
        self.visits.set((self.visits.get() or 0) + 1)
        seen = {"place": key, "walk": record["walk"], "visits": self.visits.get(), "round": context.round}
        context.emit(seen, to="seen")
        if record["left"] > 0:
            on = {**record, "place": str((int(key) + 3) % 10), "left": record["left"] - 1}
            context.emit(on, to="on" if record["left"] % 2 else "slow")


class Endless(KeyedOperator):
    """What has come once goes round for ever, until the test has seen enough."""

    came: list[bool] = []
    orders = Orders()

    def process(self, key: str, record: Row, context: Context) -> None:
        Endless.came.append(context.round == 0)
        outside = sum(Endless.came)
        Endless.orders.stopping = outside >= 200 or len(Endless.came) > 100 * (outside + 1)
        if record["left"]:
            context.emit({**record, "place": str((int(key) + 3) % 10)}, to="on")


class Added(Order):
    def combine(self, key: bytes, one: Row, other: Row) -> Row:
        return {**other, "n": one["n"] + other["n"]}


SELF = """
name: walks
sources:
  starts: {{type: kafka, topic: starts, key: place, schema: {{place: string, walk: string, left: long, n: long}}}}
operators:
  - {{id: walk, type: python, class: test_loops.{kind}, key: place, from: [starts, walk.on], outputs: [seen, on]{more}}}
sinks:
  out: {{type: kafka, topic: out, from: walk.seen, format: json}}
settings: {{commit_records: {commit}, bulk_records: 3, state: {{backend: memory}}}}
"""
RING = """
name: walks
sources:
  starts: {{type: kafka, topic: starts, schema: {{place: string, walk: string, left: long, n: long}}}}
operators:
  - {{id: walk, type: python, class: test_loops.{kind}, key: place, from: [starts, back], outputs: [seen, on]{more}}}
  - {{id: counted, type: count, key: walk, from: walk.on, keep: [place, left, n]}}
  - {{id: back, type: drop, columns: [count]}}
sinks:
  out: {{type: kafka, topic: out, from: walk.seen, format: json}}
  steps: {{type: kafka, topic: steps, from: counted, format: json}}
settings: {{commit_records: {commit}, bulk_records: 3, state: {{backend: memory}}}}
"""
TWO = """
name: walks
sources:
  starts: {{type: kafka, topic: starts, key: place, schema: {{place: string, walk: string, left: long, n: long}}}}
operators:
  - {{id: walk, type: python, class: test_loops.{kind}, key: place, from: [starts, walk.on, longer], outputs: [seen, on, slow]{more}}}
  - {{id: longer, type: filter, where: left >= 0, from: walk.slow, isolate: true}}
sinks:
  out: {{type: kafka, topic: out, from: walk.seen, format: json}}
settings: {{commit_records: {commit}, bulk_records: 3, state: {{backend: memory}}}}
"""
Starts = list[tuple[str, str, int]]
STARTS: Starts = [("1", "a", 6), ("5", "b", 4), ("1", "c", 0), ("7", "d", 5)]
FEW = [("1", "a", 3), ("7", "d", 1)]


def fed(
    folder: Path,
    text: str = SELF,
    kind: str = "Walk",
    more: str = "",
    commit: int = 5,
    starts: Starts = STARTS,
    **options: Any,
) -> PipelineHarness:
    (folder / "walks.yaml").write_text(text.format(kind=kind, more=more, commit=commit))
    harness = PipelineHarness(folder / "walks.yaml", **{"partitions": 4, "tasks": 2, **options})
    harness.send("starts", [{"place": place, "walk": walk, "left": left, "n": 0} for place, walk, left in starts])
    return harness


def seen(harness: PipelineHarness) -> Counter[tuple[str, str, int]]:
    rows = [row for row in harness.sink("out") if row is not None]
    return Counter((row["walk"], row["place"], row["round"]) for row in rows)


def expected(starts: Starts = STARTS) -> Counter[tuple[str, str, int]]:
    walks = [(place, walk, left, step) for place, walk, left in starts for step in range(left + 1)]
    return Counter((walk, str((int(place) + 3 * step) % 10), step) for place, walk, left, step in walks)


def visits(harness: PipelineHarness) -> dict[str, int]:
    rows = [row for row in harness.sink("out") if row is not None]
    most: dict[str, int] = {}
    for row in rows:
        most[row["place"]] = max(most.get(row["place"], 0), row["visits"])
    return most


def all_exact(harness: PipelineHarness, note: object = "", starts: Starts = STARTS) -> None:
    assert seen(harness) == expected(starts), note
    assert visits(harness) == Counter(place for _, place, _ in expected(starts).elements()), note
    assert harness.dead() == [] and harness.broker.open_transactions() == [], note


@pytest.mark.parametrize("text", [SELF, RING])
@pytest.mark.parametrize("tasks", [1, 2])
def test_every_step_once_and_its_round_is_known(tmp_path: Path, text: str, tasks: int) -> None:
    harness = fed(tmp_path, text, tasks=tasks)
    harness.run()
    all_exact(harness)
    assert not any(name.startswith("whorl") for entry in harness.records("out") for name, _ in entry.headers)


@pytest.mark.parametrize(("text", "tasks", "commit"), [(SELF, 2, 1), (SELF, 1, 2), (SELF, 2, 100), (RING, 1, 100)])
def test_a_crash_at_any_point(tmp_path: Path, text: str, tasks: int, commit: int) -> None:
    def prepared(number: int = 0) -> PipelineHarness:
        return fed(tmp_path, text, commit=commit, starts=FEW, partitions=2, tasks=tasks)

    undisturbed = prepared()
    undisturbed.run()
    assert undisturbed.faults.points.count("producer.commit_transaction") > 5
    for point, harness in after_each_crash(undisturbed.faults.points, prepared):
        all_exact(harness, point, FEW)


def test_on_one_task_nothing_takes_the_topic(tmp_path: Path) -> None:
    harness = fed(tmp_path, tasks=1, commit=100)
    harness.run()
    all_exact(harness)
    # What comes before the end of its own partition was seen takes the topic, as it must: something may lie there.
    assert len(harness.broker.records("walks.walk.on_walk")) < sum(expected().values()) - len(STARTS)


def test_too_many_rounds_go_to_the_dead_letters(tmp_path: Path) -> None:
    harness = fed(tmp_path, more=", max_rounds: 4, on_error: retry")
    harness.run()
    assert max(round for _, _, round in seen(harness)) == 4
    assert Counter(letter.error for letter in harness.dead()) == {
        "RoundsExceeded: round 5 is beyond max_rounds 4 of 'walk'": 2
    }


def test_one_that_fails_and_one_that_must_wait(tmp_path: Path) -> None:
    for tasks in (1, 2):
        Stumbling.tries = 0
        harness = fed(tmp_path, kind="Stumbling", tasks=tasks)
        harness.run()
        assert Stumbling.tries == 2
        assert seen(harness) == Counter({way: n for way, n in expected().items() if way[0] != "b"})
        assert [(letter.operator, letter.error) for letter in harness.dead()] == [("walk", "ValueError: a wall")]


@pytest.mark.parametrize("tasks", [1, 2])
def test_after_a_failure_that_ends_the_job_nothing_is_missing(tmp_path: Path, tasks: int) -> None:
    """Messages that were in memory behind the one that failed are in the topic."""
    Stopping.is_mended = False
    harness = fed(tmp_path, kind="Stopping", more=", on_error: fail", tasks=tasks, commit=100)
    with pytest.raises(OperatorFailed, match="not yet"):
        harness.run()
    Stopping.is_mended = True
    harness.run()
    all_exact(harness)


@pytest.mark.parametrize("commit", [1, 2, 3, 100])
def test_messages_arrive_in_order(tmp_path: Path, commit: int) -> None:
    """Also where some have to take the topic and those behind them would not."""
    harness = fed(tmp_path, kind="Order", commit=commit, tasks=1)
    harness.send("starts", [{"place": "s", "walk": "", "left": 0, "n": n} for n in (4, 8, 12, 16)])
    harness.run()
    last = harness.sink("out")[-1]
    assert last is not None
    mine = [n for n in last["came"] if n >= 4]
    assert mine == list(range(4, 20))


@pytest.mark.parametrize("commit", [1, 100])
def test_two_loops_of_different_speed(tmp_path: Path, commit: int) -> None:
    """One stays in the task, the other goes round by another component."""
    harness = fed(tmp_path, TWO, kind="TwoSpeeds", commit=commit)
    assert [len(harness.plan.loop_of(component)) for component in harness.plan.components] == [2, 2]
    harness.run()
    all_exact(harness)


def sums(folder: Path, tasks: int, kind: str, more: str = "") -> list[int]:
    """What arrives of 4 + 5 + ... + 19."""
    harness = fed(folder, kind=kind, more=more, starts=[], tasks=tasks, commit=100)
    harness.send("starts", [{"place": "s", "walk": "", "left": 0, "n": n} for n in (4, 8, 12, 16)])
    harness.run()
    last = harness.sink("out")[-1]
    assert last is not None and harness.dead() == []
    return list(last["came"])


@pytest.mark.parametrize("tasks", [1, 2])
def test_messages_to_one_key_are_merged(tmp_path: Path, tasks: int) -> None:
    added = sums(tmp_path, tasks, "Added")
    assert sum(added) == sum(range(4, 20)) and len(added) < 9
    least = sums(tmp_path, tasks, "Order", ", combine: {n: min}")
    assert min(least) == 4 and max(least) <= 16 and len(least) < 9


def test_what_comes_from_outside_is_throttled_and_what_goes_round_is_not(tmp_path: Path) -> None:
    text = SELF.replace("key: place, schema", "max_rate: 2, key: place, schema", 1)
    harness = fed(tmp_path, text, tasks=1)
    began = harness.clock()
    harness.run()
    all_exact(harness)
    assert 1.0 <= harness.clock() - began < 4.0, (
        "four records at two a second, the first at once; their 15 steps take no time"
    )


@pytest.mark.parametrize("commit", [3, 20])
def test_neither_starves(tmp_path: Path, commit: int) -> None:
    """A loop without end beside a backlog: each gets its turn, at the latest with the next commit."""
    Endless.came, Endless.orders = [], Orders()
    starts = [("1", "a", 1), ("2", "b", 1)] + [(str(n % 10), "", 0) for n in range(400)]
    harness = fed(tmp_path, kind="Endless", commit=commit, starts=starts, partitions=2, tasks=1)
    with harness.user_code():
        process = harness.process()
        process.start()
        process.task(harness.plan.components[0], 0, Endless.orders, Figures()).run()
    turns = [(outside, sum(1 for _ in group)) for outside, group in itertools.groupby(Endless.came)]
    assert sum(count for outside, count in turns if outside) >= 200
    assert max(count for outside, count in turns if outside) <= commit + 2 * 3, (
        "what goes round waits for a commit at most"
    )
    assert max(count for outside, count in turns if not outside) <= 2 * (commit + 2 * 3)
