from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from helpers_operators import Act, assert_survives, faults, operator, sent
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from whorl.operators.record import Row
from whorl.schema import TEXT, Schema
from whorl.testing import OperatorHarness

SCHEMA = {"account": "string", "at": "timestamp", "v": "long", "price": "decimal(12,2)"}
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def row(seconds: float, value: Any = 1) -> Row:
    return {"at": at(seconds), "v": value}


def averages(harness: OperatorHarness, *values: Any) -> list[Any]:
    return [given["average"] for value in values for given in harness.send("k", {"v": value})]


# -- of all so far --------------------------------------------------------------------------------------------------------------------


def test_of_all_records_of_a_key() -> None:
    harness = OperatorHarness.of("average", SCHEMA, key="account", of="v")
    assert harness.send(None, {"account": "a", "v": 1}) == [{"account": "a", "average": 1.0}]
    assert harness.send(None, {"account": "b", "v": 7}) == [{"account": "b", "average": 7.0}]
    assert harness.send(None, {"account": "a", "v": 2}) == [{"account": "a", "average": 1.5}]
    assert harness.state("a", "count_and_sum") == [2, 3]


def test_nulls_count_for_nothing() -> None:
    assert averages(OperatorHarness.of("average", of="v"), None, 4, None, 8) == [None, 4.0, 4.0, 6.0]


def test_sums_are_exact() -> None:
    assert averages(OperatorHarness.of("average", of="v"), 2**62, 1, -(2**62), 2)[-1] == 0.75


def test_of_decimals() -> None:
    harness = OperatorHarness.of("average", SCHEMA, of="price")
    given = [harness.send("k", {"price": Decimal(p)})[0]["average"] for p in ("1.00", "0.00", "0.01")]
    assert [str(each) for each in given] == ["1.000000", "0.500000", "0.336667"]
    assert str(averages(OperatorHarness.of("average", of="v"), Decimal("0.1"), Decimal("0.2"))[-1]) == "0.15"


def test_text_stays_text() -> None:
    for options in ({}, {"window": "1m"}):
        harness = OperatorHarness.of("average", TEXT, **options)
        assert [harness.send("k", {"value": v}) for v in ("1", "2.0")] == [[{"value": "1.0"}], [{"value": "1.5"}]]
        with pytest.raises(ValueError, match="column 'value' holds 'x', which is not a number"):
            harness.send("k", {"value": "x"})
        assert operator("average", **options).output(TEXT) == TEXT


# -- of windows -----------------------------------------------------------------------------------------------------------------------


def test_windows_of_processing_time_follow_each_other() -> None:
    harness = OperatorHarness.of("average", of="v", window="1m")
    start = datetime.fromtimestamp(harness.clock(), UTC)
    first, second = start + timedelta(minutes=1), start + timedelta(minutes=2)
    assert harness.send("k", {"v": 1}) == [{"average": 1.0, "window_start": start, "window_end": first}]
    harness.pass_time("59s")
    assert harness.send("k", {"v": 2}) == [{"average": 1.5, "window_start": start, "window_end": first}]
    harness.pass_time("1s")
    assert harness.states("k") == {"buckets": None}
    assert harness.send("k", {"v": 4}) == [{"average": 4.0, "window_start": first, "window_end": second}]


def test_windows_that_slide_in_event_time() -> None:
    harness = OperatorHarness.of("average", SCHEMA, of="v", window="30s", every="10s", time="at")
    given = [harness.send("k", row(seconds, value), at=at(seconds)) for seconds, value in ((1, 1), (12, 2), (35, 6))]
    assert given == [
        [{"average": 1.0, "window_start": at(-20), "window_end": at(10)}],
        [{"average": 1.5, "window_start": at(-10), "window_end": at(20)}],
        [{"average": 4.0, "window_start": at(10), "window_end": at(40)}],
    ]


def test_without_a_watermark_a_newer_record_of_the_key_ends_a_window() -> None:
    harness = OperatorHarness.of("average", SCHEMA, of="v", window="1m", time="at")
    assert len(harness.send("k", row(0))) == len(harness.send("k", row(70))) == 1
    assert harness.send("k", row(59)) == []
    assert harness.send("other", row(59))[0]["average"] == 1.0


def test_what_is_over_is_removed_also_of_keys_that_are_silent() -> None:
    harness = OperatorHarness.of("average", SCHEMA, of="v", window="30s", every="10s", time="at")
    harness.send("k", row(1), at=at(1))
    harness.send("k", row(12), at=at(12))
    harness.watermark(at(30))
    assert len(harness.state("k", "buckets")) == 1
    harness.watermark(at(40))
    assert harness.states("k") == {"buckets": None} and harness.timers() == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 120), st.integers(-5, 5) | st.none()), max_size=25),
    st.sampled_from([("20s", None), ("20s", "5s"), ("10s", "10s"), ("60s", "1s")]),
    st.integers(0, 30),
)
def test_as_if_all_records_were_kept(records: list[tuple[int, Any]], lengths: tuple[str, Any], delay: int) -> None:
    """Windows over records in any order, with a watermark behind the newest."""
    window, every = (int((length or lengths[0])[:-1]) for length in lengths)
    harness = OperatorHarness.of("average", SCHEMA, of="v", window=lengths[0], every=lengths[1], time="at")
    counted: list[tuple[int, Any]] = []
    watermark = -delay
    for seconds, value in records:
        watermark = max(watermark, seconds - delay)
        harness.watermark(at(watermark))
        given = harness.send("k", row(seconds, value))
        step, now = seconds // every * every, watermark // every * every
        if step < now + every - window:
            assert given == []
            continue
        counted.append((step, value))
        end = max(step, now) + every
        inside = [value for step, value in counted if end - window <= step < end and value is not None]
        average = sum(inside) / len(inside) if inside else None
        assert given == [{"average": average, "window_start": at(end - window), "window_end": at(end)}]


# -- what is wrong --------------------------------------------------------------------------------------------------------------------


def test_a_record_without_its_time_fails() -> None:
    harness = OperatorHarness.of("average", SCHEMA, of="v", window="1m", time="at")
    with pytest.raises(ValueError, match="column 'at' holds None, which is not a timestamp"):
        harness.send("k", {"v": 1})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": "1s"}, "'every' is for a 'window'"),
        ({"time": "at"}, "'time' is for a 'window'"),
        ({"window": "1m", "every": "7s"}, "'window' is not a multiple of 'every'"),
        ({"window": "1s", "every": "1m"}, "'window' is not a multiple of 'every'"),
        ({"window": "1h", "every": "1s"}, "more than 1000 steps"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        operator("average", of="v", **options)


def test_what_leaves_and_what_is_checked() -> None:
    made = operator("average", key="account", of="v", window="1m").output(Schema.of(SCHEMA))
    window = {"window_start": "timestamp", "window_end": "timestamp"}
    assert made == Schema.of({"account": "string", "average": "double", **window})
    assert operator("average", of="price").output(Schema.of(SCHEMA)) == Schema.of({"average": "decimal(16,6)"})
    assert faults("average", SCHEMA, of="v", window="1m", time="at") == []
    assert [f.path for f in faults("average", SCHEMA, of="v", window="1m", time="v")] == [("time",)]
    assert [f.path for f in faults("average", SCHEMA, of="at")] == [("of",)]


def test_a_crash_anywhere_changes_nothing() -> None:
    def moved(harness: OperatorHarness) -> None:
        harness.watermark(at(35))

    acts: list[Act] = [*sent(("a", row(1)), ("b", row(2, None)), ("a", row(12, 5)), ("a", row(3, 4))), moved]
    acts += sent(("a", row(1, 7)), ("a", row(40, 7)))
    options = {"window": "30s", "every": "10s", "time": "at"}
    assert_survives(lambda: OperatorHarness.of("average", SCHEMA, of="v", **options), acts, "ab")
    assert_survives(lambda: OperatorHarness.of("average", SCHEMA, of="v"), acts, "ab")
