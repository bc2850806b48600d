from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from helpers_operators import operator, step


@pytest.mark.parametrize(
    ("value", "expected"),
    [("41", "42"), (41, 42), (1.5, 2.5), ("1.5", "2.5"), (" 7 ", "8"), (Decimal("1.10"), Decimal("2.10"))],
)
def test_adds_one_and_keeps_the_type(value: Any, expected: Any) -> None:
    result = step("add").call({"value": value, "other": 0})
    assert result == {"value": expected, "other": 0}
    assert type(result["value"]) is type(expected)


def test_value_and_column() -> None:
    assert step("add", value=-2.5, column="n").call({"n": 10}) == {"n": 7.5}
    assert list(operator("add", column="n").columns()) == [(("column",), "n")]


@pytest.mark.parametrize("value", ["abc", None, True, [1], ""])
def test_what_is_no_number_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match=r"column 'value' holds .* not a number"):
        step("add").call({"value": value})


def test_the_row_that_came_stays() -> None:
    row = {"value": 1}
    step("add").call(row)
    assert row == {"value": 1}
