from __future__ import annotations

import pytest
from helpers_operators import operator, step

from whorl.operators.expressions import ExpressionError
from whorl.operators.operator import Shape
from whorl.schema import Schema

SCHEMA = Schema.of({"amount": "double"})


def test_true_passes_null_and_false_do_not() -> None:
    made = step("filter", SCHEMA, where="amount > 10")
    assert made.shape is Shape.FILTER
    assert [bool(made.call({"amount": each})) for each in (11.0, 10.0, None)] == [True, False, False]


def test_a_number_is_no_condition() -> None:
    with pytest.raises(ExpressionError, match="not a condition"):
        step("filter", SCHEMA, where="amount + 1")


def test_for_check() -> None:
    made = operator("filter", where="amount > 1")
    assert list(made.expressions()) == [(("where",), "amount > 1")]
    assert made.output(SCHEMA) == SCHEMA
