"""Operators with state in tasks: a crash at any call of a Kafka client changes neither rows nor state nor timers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, ListState, Row, ValueState
from whorl.testing import Given, PipelineHarness

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Spend(KeyedOperator):
    """The running total, and for each minute a bill when the watermark says that it is over."""

    total = ValueState(int)
    bills = ListState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        if record["amount"] < 0:
            self.total.set(-1_000_000)
            raise ValueError("no negative amounts")
        total = self.total.update(lambda before: (before or 0) + record["amount"])
        context.emit({"account": key, "total": total})
        context.timers.at(record["at"].replace(second=0) + timedelta(minutes=1))

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        self.bills.append(self.total.get() or 0)
        context.emit({"account": key, "until": time.isoformat(), "bills": self.bills.get()})


SOURCE = """
name: keyed
sources:
  payments:
    type: kafka
    topic: payments
    key: {key}
    schema: {{account: string, amount: long, at: timestamp}}
    watermark: {{column: at, delay: 0s}}
operators:
  - {{id: spend, type: python, class: test_keyed_tasks.Spend, key: account, from: payments}}
sinks:
  out: {{type: kafka, topic: out, from: spend, format: json, key: account}}
settings: {{state: {{backend: {backend}, dir: {dir}}}, commit_records: 2, bulk_records: 3}}
"""


def payments() -> list[Row]:
    rows = [("a", 1, 0), ("b", 2, 10), ("a", 3, 30), ("b", -1, 40), ("b", 4, 70), ("a", 5, 80), ("a", 6, 200)]
    return [{"account": who, "amount": n, "at": NOON + timedelta(seconds=s)} for who, n, s in rows]


def written(harness: PipelineHarness) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in harness.sink("out"):
        assert row is not None
        found.setdefault(row["account"], []).append(row.get("total", row.get("bills")))
    return found


EXPECTED = {"a": [1, 4, [4], 9, [4, 9], 15], "b": [2, [2], 6, [2, 6]]}


def pipeline(folder: Path, key: str = "account", backend: str = "memory") -> Path:
    file = folder / "keyed.yaml"
    file.write_text(SOURCE.format(key=key, backend=backend, dir=folder / "state"))
    return file


def fed(folder: Path, **options: Any) -> PipelineHarness:
    harness = PipelineHarness(pipeline(folder, **options))
    harness.send("payments", payments())
    return harness


@pytest.mark.parametrize("backend", ["memory", "disk"])
@pytest.mark.parametrize("key", ["account", "at"])
def test_state_timers_and_a_record_that_fails(tmp_path: Path, backend: str, key: str) -> None:
    """By the key that the topic has, and by another, over a topic in between."""
    harness = fed(tmp_path, key=key, backend=backend)
    harness.run()
    assert len(harness.plan.components) == (1 if key == "account" else 2)
    assert written(harness) == EXPECTED
    (dead,) = harness.dead()
    assert dead.operator == "spend" and "no negative amounts" in dead.error
    harness.send("payments", [{"account": "b", "amount": 10, "at": NOON + timedelta(minutes=4)}])
    harness.run()
    assert written(harness)["b"] == [*EXPECTED["b"], 16]


@pytest.mark.parametrize("backend", ["memory", "disk"])
def test_a_crash_at_any_point(tmp_path: Path, backend: str) -> None:
    undisturbed = fed(tmp_path)
    undisturbed.run()
    assert undisturbed.faults.points.count("producer.commit_transaction") > 3

    def prepared(number: int) -> PipelineHarness:
        folder = tmp_path / str(number)
        folder.mkdir()
        return fed(folder, backend=backend)

    for point, harness in after_each_crash(undisturbed.faults.points, prepared):
        assert written(harness) == EXPECTED, point
        assert len(harness.dead()) == 1


def test_copies_of_a_former_life_are_removed(tmp_path: Path) -> None:
    fed(tmp_path, backend="disk").run()
    (old,) = (tmp_path / "state" / "keyed").iterdir()
    (old / "spend" / "0.1").mkdir()
    (old / "spend" / "0.1" / "owner").touch()
    harness = fed(tmp_path, backend="disk")
    harness.run()
    assert written(harness) == EXPECTED
    left = [folder.parts[-3:] for folder in (tmp_path / "state").glob("*/*/*/*/owner")]
    assert len(left) == 1 and left[0][0] == "spend" and not list(old.glob("*/*"))


class Told(KeyedOperator):
    """Where each record and each timer came from."""

    def process(self, key: str, record: Row, context: Context) -> None:
        self._tell("record", context)
        if record["amount"]:
            context.timers.at(record["at"] + timedelta(seconds=5))

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        self._tell("timer", context)

    def _tell(self, what: str, context: Context) -> None:
        told = context.metadata
        headers = {name: value.decode() for name, value in told.headers}
        place = [told.topic, told.partition, told.offset]
        key = told.key.decode() if told.key else None
        context.emit({"account": key, "what": what, "place": place, "headers": headers, "at": told.timestamp})


def test_a_record_says_where_it_came_from(tmp_path: Path) -> None:
    """Each of several in one bulk, in one partition and in another; what a timer says is its own."""
    file = pipeline(tmp_path)
    file.write_text(file.read_text().replace("test_keyed_tasks.Spend", "test_keyed_tasks.Told"))
    harness = PipelineHarness(file, partitions=2)
    sent = [("a", 1, 0), ("b", 0, 1), ("a", 0, 2), ("d", 0, 3), ("a", 0, 60)]
    for number, (who, amount, second) in enumerate(sent):
        row = {"account": who, "amount": amount, "at": NOON + timedelta(seconds=second)}
        harness.send("payments", [Given(row, headers={"n": str(number)}, timestamp=1000 + number)])
    harness.run()
    places = {
        entry.headers[0][1].decode(): [entry.topic, entry.partition, entry.offset]
        for entry in harness.broker.records("payments")
    }
    assert len({partition for _, partition, _ in places.values()}) == 2
    told = [row for row in harness.sink("out") if row]
    assert sorted((row["headers"]["n"], row["account"], row["place"], row["at"]) for row in told if row["headers"]) == [
        (str(number), who, places[str(number)], 1000 + number) for number, (who, _, _) in enumerate(sent)
    ]
    (timer,) = [row for row in told if row["what"] == "timer"]
    assert (timer["account"], timer["headers"]) == ("a", {})
    assert timer["at"] == round((NOON + timedelta(seconds=5)).timestamp() * 1000)
