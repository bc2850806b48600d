from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from helpers_operators import assert_survives, faults, operator, sent
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.schema import TEXT, Schema
from whorl.testing import OperatorHarness

SCHEMA = {"account": "string", "at": "timestamp", "n": "int", "tags": "array<string>"}
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def last(type: str, values: list[Any]) -> Any:
    harness = OperatorHarness.of(type, of="v")
    return [row[type] for value in values for row in harness.send("k", {"v": value})][-1]


@pytest.mark.parametrize(
    "ordered",
    [
        [-1, 0, 2**70],
        [-0.5, 1, math.inf],
        [Decimal("1.10"), Decimal("1.2")],
        ["", "B", "a"],
        [date(2026, 1, 1), date(2026, 1, 2)],
        [NOON, NOON.replace(minute=1)],
    ],
)
def test_anything_that_has_an_order(ordered: list[Any]) -> None:
    for values in (ordered, ordered[::-1], [None, *ordered, None]):
        assert (last("min", values), last("max", values)) == (ordered[0], ordered[-1])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | st.integers() | st.floats(allow_nan=False), min_size=1))
def test_any_numbers(values: list[Any]) -> None:
    numbers = [value for value in values if value is not None]
    assert last("min", values) == min(numbers, default=None)
    assert last("max", values) == max(numbers, default=None)


@pytest.mark.parametrize("values", [[math.nan, 1.0, 2.0], [1.0, math.nan, 2.0], [2.0, 1.0, math.nan]])
def test_nan_is_greater_than_any_number(values: list[float]) -> None:
    assert last("min", values) == 1.0
    assert math.isnan(last("max", values))


def test_by_key_with_columns_of_the_record() -> None:
    harness = OperatorHarness.of("max", SCHEMA, key="account", of="n", keep="at", as_="top")
    rows = [("a", 3), ("b", 1), ("a", 2)]
    given = [row for account, n in rows for row in harness.send(None, {"account": account, "n": n, "at": NOON})]
    assert given == [{"account": a, "at": NOON, "top": top} for a, top in (("a", 3), ("b", 1), ("a", 3))]
    assert harness.state("a", "value") == 3


def test_text_rows_hold_numbers() -> None:
    harness = OperatorHarness.of("min", TEXT)
    assert [harness.send("k", {"value": v})[0] for v in ("10", "9", "9.5")] == [{"value": v} for v in ("10", "9", "9")]
    with pytest.raises(ValueError, match="column 'value' holds 'x', which is not a number"):
        harness.send("k", {"value": "x"})


def test_what_cannot_be_compared_fails_the_record() -> None:
    harness = OperatorHarness.of("max", of="v")
    harness.send("k", {"v": 1})
    with pytest.raises(ValueError, match="1 and 'x' cannot be compared"):
        harness.send("k", {"v": "x"})
    assert harness.state("k", "value") == 1


def test_a_key_that_is_seen_stays() -> None:
    """Also where the value does not change, or is null."""
    harness = OperatorHarness.of("min", of="v", ttl="10m")
    for value in (1, 2, None):
        assert harness.send("k", {"v": value}) == [{"min": 1}]
        harness.pass_time("9m")
    harness.pass_time("1m")
    assert harness.send("k", {"v": 2}) == [{"min": 2}]


def test_what_leaves_and_what_is_checked() -> None:
    assert operator("min", of="at").output(Schema.of(SCHEMA)) == Schema.of({"min": "timestamp"})
    assert operator("max").output(TEXT) == TEXT
    assert faults("max", SCHEMA, of="account") == faults("max", {"value": "string"}) == []
    (fault,) = faults("max", SCHEMA, of="tags")
    assert (fault.path, fault.code) == (("of",), "type")
    assert [f.code for f in faults("max", SCHEMA)] == ["missing-key"]


def test_a_crash_anywhere_changes_nothing() -> None:
    acts = sent(("a", {"v": NOON}), ("b", {"v": None}), ("a", {"v": NOON.replace(hour=1)}), ("b", {"v": NOON}))
    assert_survives(lambda: OperatorHarness.of("min", of="v"), acts, "ab")
