"""A pipeline that joins two streams in tasks: sorted by key or cogrouped, by several partitions, and with a crash at any point."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers_crashes import after_each_crash

from whorl.operators.record import Row
from whorl.testing import Given, PipelineHarness

PIPELINE = """
name: paying
sources:
  orders: {type: kafka, topic: orders, key: user, schema: {user: string, at: timestamp, id: long}, watermark: {column: at, delay: 5s}}
  payments: {type: kafka, topic: payments, key: user, schema: {user: string, paid: timestamp, n: long}, watermark: {column: paid, delay: 5s}}
operators:
  - {id: settled, type: join, kind: left, from: [orders, payments], on: user, within: 10s, time: [at, paid]}
sinks:
  out: {type: kafka, topic: out, from: settled}
settings: {cogroup: true, state: {backend: memory}, commit_records: 8, bulk_records: 5}
"""
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
USERS = ["ann", "bob", "eve", "joe", "sue", "kim"]
ORDERS = [(user, 0) for user in USERS] + [("ann", 4), ("bob", 20)]
PAYMENTS = [("ann", 3), ("ann", 3), ("bob", 11), ("eve", 10), ("joe", 12)]
"""User and second; so those of ann meet twice each, one of bob's one, eve's at the last moment, and others none."""
EXPECTED = sorted(
    [*(("ann", second, n) for second in (0, 4) for n in (0, 1)), ("bob", 20, 2), ("bob", 0, None), ("eve", 0, 3)]
    + [(user, 0, None) for user in ("joe", "sue", "kim")],
    key=str,
)


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def prepared(folder: Path, cogroup: bool = True, partitions: int = 1) -> PipelineHarness:
    file = folder / "paying.yaml"
    file.write_text(PIPELINE.replace("cogroup: true", f"cogroup: {str(cogroup).lower()}"))
    harness = PipelineHarness(file, partitions=partitions)
    harness.send("orders", [{"user": user, "at": at(second), "id": second} for user, second in ORDERS])
    harness.send("payments", [{"user": user, "paid": at(s), "n": n} for n, (user, s) in enumerate(PAYMENTS)])
    harness.send("payments", [Given({"paid": at(3)}, key=None)])
    # Time moves on, for every user and so in every partition; a payment that is as late as can be is left out.
    harness.send("orders", [{"user": user, "at": at(100), "id": 100} for user in USERS])
    harness.send("payments", [{"user": user, "paid": at(200), "n": 200} for user in USERS])
    harness.send("payments", [{"user": "ann", "paid": at(0), "n": 7}])
    return harness


def written(harness: PipelineHarness) -> list[tuple[str, int, int | None]]:
    rows: list[Row] = [row for row in harness.sink("out") if row]
    return sorted(((row["user"], row["id"], row["n"]) for row in rows if row["id"] < 100), key=str)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("cogroup", [True, False])
def test_a_pipeline(tmp_path: Path, cogroup: bool, partitions: int) -> None:
    harness = prepared(tmp_path, cogroup, partitions)
    harness.run()
    assert len(harness.plan.components) == (1 if cogroup else 3)
    assert written(harness) == EXPECTED
    (dead,) = harness.dead()
    assert "the record has no key" in dead.error
    assert {record.key for record in harness.records("out")} == {user.encode() for user in USERS}


def test_a_crash_at_any_call_to_kafka(tmp_path: Path) -> None:
    undisturbed = prepared(tmp_path)
    undisturbed.run()
    for point, harness in after_each_crash(undisturbed.faults.points, lambda _: prepared(tmp_path)):
        assert written(harness) == EXPECTED, point
