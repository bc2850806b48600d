from __future__ import annotations

from helpers_operators import operator, step

from whorl.schema import Schema


def test_leaves_columns_out() -> None:
    row = {"a": 1, "b": 2, "c": 3}
    assert step("drop", columns=["a", "c"]).call(row) == {"b": 2}
    assert row == {"a": 1, "b": 2, "c": 3}


def test_a_column_that_is_not_there() -> None:
    assert step("drop", columns=["z"]).call({"a": 1}) == {"a": 1}


def test_what_leaves() -> None:
    made = operator("drop", columns=["a"])
    assert made.output(Schema.of({"a": "long", "b": "string"})) == Schema.of({"b": "string"})
    assert made.output(None) is None
    assert list(made.columns()) == [(("columns", 0), "a")]
