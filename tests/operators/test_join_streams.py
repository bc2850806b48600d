"""The join of two streams in tasks: the rows of the same join in SQL, in whatever order records come, and nothing kept for ever."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from helpers_operators import Act, assert_survives, operator
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.operators.operator import OperatorType, Upstream
from whorl.operators.record import Row
from whorl.schema import Schema
from whorl.testing import OperatorHarness

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ORDERS = Schema.of({"user": "string", "at": "timestamp", "id": "long"})
PAYMENTS = Schema.of({"user": "string", "paid": "timestamp", "sum": "double"})
KINDS = ["inner", "left", "right", "full", "semi"]


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def placed(kind: str = "inner", **options: Any) -> OperatorType:
    given = {"on": "user", "within": "10s", "time": ["at", "paid"], "kind": kind, **options}
    return operator("join", **given).reading(
        [Upstream("orders", ORDERS, time="at"), Upstream("payments", PAYMENTS, time="paid")]
    )


def joining(kind: str = "inner", **options: Any) -> OperatorHarness:
    return OperatorHarness(placed(kind, **options).step(None).call)


def order(seconds: float, id: int = 1, user: str = "ann") -> Row:
    return {"user": user, "at": at(seconds), "id": id}


def payment(seconds: float, sum: float = 5.0, user: str = "ann") -> Row:
    return {"user": user, "paid": at(seconds), "sum": sum}


def send(harness: OperatorHarness, row: Row) -> list[Row]:
    return harness.send(row["user"], row, input="orders" if "id" in row else "payments")


def nothing_is_kept(harness: OperatorHarness, *users: str) -> bool:
    return not harness.timers() and all(not any(harness.states(user).values()) for user in users)


def test_rows_meet_whichever_comes_first_and_each_with_all_its_partners() -> None:
    harness = joining()
    assert send(harness, order(0, 1)) == send(harness, order(1, 2)) == send(harness, order(0, 9, "bob")) == []
    assert send(harness, payment(5)) == [
        {**order(0, 1), "paid": at(5), "sum": 5.0},
        {**order(1, 2), "paid": at(5), "sum": 5.0},
    ]
    assert send(harness, order(3, 3)) == [{**order(3, 3), "paid": at(5), "sum": 5.0}]
    assert list(harness.rows[0]) == list(placed().output(None).names)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("apart", "meets"), [(10, True), (-10, True), (10.000001, False), (-10.000001, False), (0, True)]
)
def test_the_interval_is_that_of_sql_to_the_microsecond(apart: float, meets: bool) -> None:
    harness = joining()
    send(harness, order(0.0004))
    assert bool(send(harness, payment(0.0004 + apart))) is meets


def test_a_row_without_a_partner_leaves_when_the_watermark_has_passed_its_interval() -> None:
    harness = joining("left")
    harness.watermark(at(-20))
    for row in (order(0, 1), order(0, 2, "bob"), order(0, 3), payment(-10, user="bob")):
        send(harness, row)
    assert harness.watermark(at(10)) == []
    assert harness.watermark(at(10.001)) == [{**order(0, id), "paid": None, "sum": None} for id in (1, 3)]
    assert harness.emitted[-1][2].timestamp == round(at(10.001).timestamp() * 1000)
    assert harness.watermark(at(100)) == [] and nothing_is_kept(harness, "ann", "bob")


def test_a_partner_at_the_last_moment_is_in_time() -> None:
    harness = joining("left")
    send(harness, order(0))
    assert harness.watermark(at(10)) == []
    assert send(harness, payment(10)) == [{**order(0), "paid": at(10), "sum": 5.0}]
    assert harness.watermark(at(60)) == [] and nothing_is_kept(harness, "ann")


def test_a_row_behind_the_watermark_is_left_out() -> None:
    harness = joining("full")
    send(harness, order(0))
    harness.watermark(at(5))
    assert send(harness, payment(4)) == []
    assert send(harness, payment(5)) == [{**order(0), "paid": at(5), "sum": 5.0}]
    assert harness.watermark(at(60)) == [] and nothing_is_kept(harness, "ann")


def test_what_has_no_time_or_no_key_fails_and_leaves_nothing() -> None:
    harness = joining("left")
    with pytest.raises(ValueError, match="column 'at' holds None, which is not a timestamp"):
        send(harness, {**order(0), "at": None})
    with pytest.raises(ValueError, match="the record has no key"):
        harness.send(None, order(0), input="orders")
    assert nothing_is_kept(harness, "ann")


def in_sql(kind: str, orders: Sequence[Row], payments: Sequence[Row]) -> list[Row]:
    """What SQL says of the rows as two tables."""
    pairs = [
        (left, right)
        for left in orders
        for right in payments
        if left["user"] == right["user"] and abs(left["at"] - right["paid"]) <= timedelta(seconds=10)
    ]
    if kind == "semi":
        return [left for left in orders if any(left is each for each, _ in pairs)]
    rows = [{**left, **right} for left, right in pairs]
    if kind in ("left", "full"):
        rows += [{**left, "paid": None, "sum": None} for left in orders if not any(left is each for each, _ in pairs)]
    if kind in ("right", "full"):
        rows += [{"at": None, "id": None, **right} for right in payments if not any(right is each for _, each in pairs)]
    return rows


MOMENTS = st.integers(-30_000_100, 30_000_100).map(lambda micros: micros / 1_000_000) | st.integers(-30, 30)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["ann", "bob"]), MOMENTS), max_size=25), st.integers(-30, 30))
def test_the_rows_are_those_of_sql(kind: str, records: list[tuple[bool, str, float]], between: int) -> None:
    rows = [
        order(seconds, number, user) if left else payment(seconds, number, user)
        for number, (left, user, seconds) in enumerate(records)
    ]
    harness, early = joining(kind), [row for row in rows if _time(row) < at(between)]
    for row in early:
        send(harness, row)
    harness.watermark(at(between))
    harness.commit()
    for row in rows:
        if row not in early:
            send(harness, row)
    harness.crash()
    harness.watermark(at(100))
    expected = in_sql(kind, [row for row in rows if "id" in row], [row for row in rows if "id" not in row])
    assert sorted(harness.rows, key=_fixed) == sorted(expected, key=_fixed)
    assert nothing_is_kept(harness, "ann", "bob")


def _time(row: Row) -> datetime:
    found: datetime = row["at"] if "id" in row else row["paid"]
    return found


def _fixed(row: Row) -> str:
    return repr(sorted(row.items()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_anywhere_changes_nothing(kind: str) -> None:
    acts: list[Act] = [lambda harness: harness.watermark(at(-5))]
    for row in (order(0), payment(11), order(2, 2), payment(3, user="bob")):
        acts.append(lambda harness, row=row: send(harness, row))  # type: ignore[misc]
    acts += [lambda harness: harness.watermark(at(11)), lambda harness: send(harness, order(9, 3))]
    acts.append(lambda harness: harness.watermark(at(40)))
    assert_survives(partial(joining, kind), acts, ["ann", "bob"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, ""),
        ({"within": None, "time": None}, "without 'within', rows would be kept for ever"),
        ({"on": "orders.user = payments.user"}, "its 'on' is a condition"),
        ({"time": ["at", "sum"]}, "no source of 'payments' has a watermark of 'sum'"),
    ],
)
def test_what_is_of_queries(options: dict[str, Any], why: str) -> None:
    made = placed(**options)
    assert made.of_queries.startswith(why) and made.in_tasks is (why == "")
    assert made.native(None) is not None and made.keyed_by() == (None if why else ("user",))


def test_the_key_has_the_same_type_on_both_sides() -> None:
    other = Schema.of({"user": "long", "paid": "timestamp"})
    options = {"on": "user", "within": "10s", "time": ["at", "paid"]}
    made = operator("join", **options).reading([Upstream("o", ORDERS, time="at"), Upstream("p", other, time="paid")])
    assert made.of_queries == "'user' has not the same type in both inputs"
