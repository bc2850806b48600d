from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from helpers_operators import assert_survives, faults, operator, sent
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.schema import TEXT, Schema
from whorl.testing import OperatorHarness

SCHEMA = {"account": "string", "amount": "double", "n": "int", "price": "decimal(12,2)"}


def sums(harness: OperatorHarness, values: list[Any], column: str = "n") -> list[Any]:
    return [row["sum"] for value in values for row in harness.send("k", {column: value})]


def test_values_are_added_up_by_key() -> None:
    harness = OperatorHarness.of("sum", SCHEMA, key="account", of="amount", as_="spent", count="payments")
    assert harness.send(None, {"account": "a", "amount": 1.5}) == [{"account": "a", "spent": 1.5, "payments": 1}]
    assert harness.send(None, {"account": "b", "amount": 2.0}) == [{"account": "b", "spent": 2.0, "payments": 1}]
    assert harness.send(None, {"account": "a", "amount": 0.5}) == [{"account": "a", "spent": 2.0, "payments": 2}]
    assert harness.state("a", "sum_and_count") == [2.0, 2]


def test_nulls_count_for_nothing_but_are_records() -> None:
    assert sums(OperatorHarness.of("sum", SCHEMA, of="n"), [None, 3, None, 4]) == [None, 3, 3, 7]
    harness = OperatorHarness.of("sum", SCHEMA, of="n", count="records")
    assert [harness.send("k", {"n": n})[0]["records"] for n in (None, 3, None)] == [1, 2, 3]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.integers(), st.decimals(-(10**20), 10**20, places=12)), min_size=1))
def test_whole_numbers_and_decimals_are_exact(values: list[Any]) -> None:
    assert Fraction(sums(OperatorHarness.of("sum", of="n"), values)[-1]) == sum(map(Fraction, values))


def test_whole_numbers_stay_whole() -> None:
    totals = sums(OperatorHarness.of("sum", of="n"), [2**70, 1, 0.5])
    assert totals[:2] == [2**70, 2**70 + 1]
    assert [total.__class__ for total in totals] == [int, int, float]


def test_numbers_in_text() -> None:
    harness = OperatorHarness.of("sum", TEXT)
    given = ("1", str(2**60), str(-(2**60)), "0.5", "-1")
    assert [harness.send("k", {"value": text})[0]["value"] for text in given] == [
        "1",
        str(2**60 + 1),
        "1",
        "1.5",
        "0.5",
    ]
    assert operator("sum").output(TEXT) == TEXT


@pytest.mark.parametrize("wrong", ["x", "", "1,5"])
def test_text_that_is_no_number_fails_the_record_and_leaves_no_trace(wrong: str) -> None:
    harness = OperatorHarness.of("sum", TEXT)
    harness.send("k", {"value": "1"})
    with pytest.raises(ValueError, match=f"column 'value' holds '{wrong}', which is not a number"):
        harness.send("k", {"value": wrong})
    assert harness.state("k", "sum") == 1 and len(harness.rows) == 1


@pytest.mark.parametrize("wrong", ["7", True, [1]])
def test_a_value_that_is_no_number_fails_the_record(wrong: Any) -> None:
    with pytest.raises(ValueError, match="which is not a number"):
        OperatorHarness.of("sum", of="n").send("k", {"n": wrong})


def test_a_double_beside_decimals_is_told() -> None:
    harness = OperatorHarness.of("sum", of="n")
    harness.send("k", {"n": Decimal("1.1")})
    with pytest.raises(ValueError, match=r"0\.5 cannot be added to Decimal\('1\.1'\)"):
        harness.send("k", {"n": 0.5})


@pytest.mark.parametrize(
    ("of", "kind"), [("n", "long"), ("amount", "double"), ("price", "decimal(22,2)"), ("other", "unknown")]
)
def test_what_leaves(of: str, kind: str) -> None:
    made = operator("sum", key="account", of=of, count="c").output(Schema.of(SCHEMA))
    assert made == Schema.of({"account": "string", "sum": kind, "c": "long"})


def test_what_is_checked() -> None:
    assert faults("sum", SCHEMA, of="n") == faults("sum", {"value": "string"}) == faults("sum", None, of="n") == []
    assert [(f.path, f.code) for f in faults("sum", SCHEMA)] == [((), "missing-key")]
    (fault,) = faults("sum", SCHEMA, of="account")
    assert (fault.path, fault.code, fault.message) == (("of",), "type", "the column 'account' is a string")
    assert [f.message for f in faults("sum", SCHEMA, of="n", as_="c", count="c")] == [
        "two columns get the same name: c, c"
    ]


@pytest.mark.parametrize("options", [{}, {"count": "records"}])
def test_a_crash_anywhere_changes_nothing(options: dict[str, Any]) -> None:
    acts = sent(("a", {"n": 1}), ("b", {"n": None}), ("a", {"n": 2**65}), ("b", {"n": 0.5}), ("a", {"n": -1}))
    assert_survives(lambda: OperatorHarness.of("sum", of="n", **options), acts, "ab")
