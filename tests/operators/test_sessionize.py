from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from helpers_operators import Act, assert_survives, faults, operator
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from whorl.operators.record import Row
from whorl.schema import TEXT, Schema
from whorl.testing import OperatorHarness

SCHEMA = {"user": "string", "at": "timestamp", "n": "long", "price": "decimal(12,2)", "tags": "array<string>"}
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ALL = {
    "total": "sum(n)",
    "least": "min(n)",
    "most": "max(n)",
    "began": "first(n)",
    "ended": "last( n )",
    "known": "COUNT(n)",
}


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def events(**options: Any) -> OperatorHarness:
    return OperatorHarness.of("sessionize", SCHEMA, **{"key": "user", "gap": "10m", "time": "at", **options})


def send(harness: OperatorHarness, minutes: float, n: Any = 1, user: str = "a") -> list[Row]:
    return harness.send(None, {"user": user, "at": at(minutes), "n": n})


def session(first: float, last: float, count: int, user: str = "a", **more: Any) -> Row:
    return {"user": user, "session_start": at(first), "session_end": at(last), "count": count, **more}


def test_processing_time_a_row_leaves_when_nothing_has_come_for_so_long() -> None:
    harness = OperatorHarness.of("sessionize", TEXT, gap="10m", aggregates={"sum": "sum(value)", "top": "max(value)"})
    start = datetime.fromtimestamp(harness.clock(), UTC)
    assert harness.send("k", {"value": "9"}) == []
    harness.pass_time("6m")
    assert harness.send("k", {"value": "10"}) == []
    assert harness.pass_time("9m59s") == []
    (row,) = harness.pass_time("1s")
    end = start + timedelta(minutes=6)
    assert row == {"session_start": start, "session_end": end, "count": 2, "sum": 19, "top": 10}
    ((_, _, metadata),) = harness.emitted
    assert (metadata.key, metadata.timestamp) == (b"k", round((end + timedelta(minutes=10)).timestamp() * 1000))
    assert harness.states("k") == {"sessions": None} and harness.timers() == []


def test_event_time_and_all_aggregates() -> None:
    harness = events(aggregates=ALL)
    for minutes, n in ((5, 3), (2, None), (7, 8), (7, 4)):
        assert send(harness, minutes, n) == []
    values = {"total": 15, "least": 3, "most": 8, "began": None, "ended": 4, "known": 3}
    assert harness.watermark(at(17)) == [session(2, 7, 4, **values)]


def test_keys_do_not_mix_and_their_columns_have_their_types() -> None:
    harness = OperatorHarness.of("sessionize", key=["user", "at"], gap="1m")
    harness.send(None, {"user": 7, "at": NOON})
    harness.send(None, {"user": 8, "at": NOON})
    assert [(row["user"], row["at"]) for row in harness.pass_time("1m")] == [(7, NOON), (8, NOON)]


def test_a_record_between_two_sessions_makes_them_one() -> None:
    harness = events(aggregates={"total": "sum(n)"})
    harness.watermark(at(-10))
    send(harness, 0)
    send(harness, 15)
    assert len(harness.state("a", "sessions")) == 2
    assert send(harness, 8) == [] and len(harness.state("a", "sessions")) == 1
    assert harness.watermark(at(24)) == []
    assert harness.watermark(at(25)) == [session(0, 15, 3, total=3)]
    assert harness.timers() == []


def test_what_comes_after_the_end_counts_nowhere() -> None:
    harness = events()
    harness.watermark(at(-10))
    send(harness, 0)
    send(harness, 30)
    assert harness.watermark(at(12)) == [session(0, 0, 1)]
    assert send(harness, 2) == [] and len(harness.state("a", "sessions")) == 1
    assert harness.watermark(at(60)) == [session(30, 30, 1)]


def test_without_a_watermark_a_newer_record_of_the_key_ends_a_session() -> None:
    harness = events()
    assert send(harness, 0) == send(harness, 9) == []
    assert send(harness, 19) == [session(0, 9, 2)]
    assert send(harness, 1) == []
    assert len(harness.state("a", "sessions")) == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.integers(-3, 3)), max_size=20), st.randoms())
def test_the_order_of_records_does_not_matter(records: list[tuple[str, int, int]], random: Any) -> None:
    """As long as the watermark waits: the sessions are those of the records in order of time."""
    harness = events(aggregates={"total": "sum(n)"})
    harness.watermark(at(-10))
    for user, minutes, n in random.sample(records, len(records)):
        assert send(harness, minutes, n, user) == []
    expected: list[Row] = []
    for user in "ab":
        last = None
        for _, minutes, n in sorted(record for record in records if record[0] == user):
            if last is None or minutes - last >= 10:
                expected.append(session(minutes, minutes, 0, user, total=0))
            row, last = expected[-1], minutes
            row["session_end"], row["count"], row["total"] = at(minutes), row["count"] + 1, row["total"] + n
    ended = harness.watermark(at(1000))
    assert sorted(ended, key=repr) == sorted(expected, key=repr)
    assert [row["session_end"] for row in ended] == sorted(row["session_end"] for row in ended)
    assert harness.timers() == [] and harness.states("a") == harness.states("b") == {"sessions": None}


def test_numbers_are_exact() -> None:
    harness = events(aggregates={"total": "sum(n)"})
    for n in (2**62, 2**62, Decimal("0.01")):
        send(harness, 0, n)
    assert harness.watermark(at(10))[0]["total"] == Decimal(2**63) + Decimal("0.01")


def test_a_value_that_is_no_number_fails_the_record_and_leaves_no_trace() -> None:
    harness = events(aggregates={"total": "sum(n)"})
    with pytest.raises(ValueError, match="column 'n' holds 'x', which is not a number"):
        send(harness, 0, "x")
    assert harness.states("a") == {"sessions": None} and harness.timers() == []


@pytest.mark.parametrize(
    ("aggregates", "words"),
    [
        (
            {"x": "median(n)"},
            r"'median\(n\)' is not one of count\(column\), sum\(column\), min\(column\), max\(column\), first\(column\), last\(column\)",
        ),
        ({"x": "sum(n) + 1"}, "is not one of"),
        ({"x": "sum(*)"}, r"'sum\(\*\)' names no column"),
        ({"count": "sum(n)"}, "two columns get the same name"),
        ({"user": "sum(n)"}, "two columns get the same name"),
    ],
)
def test_aggregates_that_are_refused(aggregates: dict[str, str], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        operator("sessionize", key="user", gap="1m", aggregates=aggregates)


def test_what_leaves_and_what_is_checked() -> None:
    made = operator(
        "sessionize", key="user", gap="1m", aggregates={"a": "sum(price)", "b": "last(tags)", "c": "count(n)"}
    )
    assert made.output(Schema.of(SCHEMA)) == Schema.of(
        {
            "user": "string",
            "session_start": "timestamp",
            "session_end": "timestamp",
            "count": "long",
            "a": "decimal(22,2)",
            "b": "array<string>",
            "c": "long",
        }
    )
    assert list(made.columns())[1:] == [
        (("aggregates", each), of) for each, of in (("a", "price"), ("b", "tags"), ("c", "n"))
    ]
    assert faults("sessionize", SCHEMA, key="user", gap="1m", time="at", aggregates=ALL) == []
    wrong = faults("sessionize", SCHEMA, gap="1m", time="n", aggregates={"a": "sum(user)", "b": "max(tags)"})
    assert [(f.path, f.code) for f in wrong] == [
        (("time",), "type"),
        (("aggregates", "a"), "type"),
        (("aggregates", "b"), "type"),
    ]


def test_a_crash_anywhere_changes_nothing() -> None:
    acts: list[Act] = [lambda harness: harness.watermark(at(-5))]
    for user, minutes in (("a", 0), ("b", 1), ("a", 15), ("a", 8)):
        acts.append(lambda harness, user=user, minutes=minutes: send(harness, minutes, minutes, user))  # type: ignore[misc]
    acts += [
        lambda harness: harness.watermark(at(12)),
        lambda harness: send(harness, 2),
        lambda harness: harness.watermark(at(40)),
    ]
    assert_survives(lambda: events(aggregates=ALL), acts, "ab")
