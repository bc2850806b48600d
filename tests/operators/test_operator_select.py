from __future__ import annotations

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.operators.expressions import ExpressionError
from whorl.schema import Schema

SCHEMA = Schema.of({"a": "long", "odd name": "string", "c": "double"})


def test_names_in_the_order_written() -> None:
    made = step("select", SCHEMA, columns=["c", "odd name"])
    assert list(made.call({"a": 1, "odd name": "x", "c": 2.0}).items()) == [("c", 2.0), ("odd name", "x")]


def test_expressions() -> None:
    assert step("select", SCHEMA, columns={"twice": "a * 2"}).call({"a": 4}) == {"twice": 8}


def test_what_leaves() -> None:
    assert operator("select", columns=["c", "a"]).output(SCHEMA) == Schema((("c", "double"), ("a", "long")))
    assert operator("select", columns={"x": "a > 1"}).output(None) == Schema((("x", "boolean"),))


def test_for_check() -> None:
    assert list(operator("select", columns=["c", "a"]).columns()) == [(("columns", 0), "c"), (("columns", 1), "a")]
    assert list(operator("select", columns={"x": "a"}).expressions()) == [(("columns", "x"), "a")]


def test_refusals() -> None:
    with pytest.raises(ValidationError):
        operator("select", columns=[])
    with pytest.raises(ExpressionError, match="no column 'z'"):
        step("select", SCHEMA, columns=["z"])
