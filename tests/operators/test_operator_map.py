from __future__ import annotations

from helpers_operators import operator, step

from whorl.schema import Schema

SCHEMA = Schema.of({"a": "long", "b": "string"})


def test_sets_columns_and_keeps_the_others() -> None:
    made = step("map", SCHEMA, columns={"a": "a * 2", "c": "upper(b)"})
    assert made.call({"a": 2, "b": "x"}) == {"a": 4, "b": "x", "c": "X"}


def test_expressions_see_the_row_as_it_came() -> None:
    assert step("map", SCHEMA, columns={"a": "a + 1", "c": "a"}).call({"a": 1, "b": None}) == {
        "a": 2,
        "b": None,
        "c": 1,
    }


def test_without_a_schema() -> None:
    assert step("map", None, columns={"a": "a + 1"}).call({"a": 1}) == {"a": 2}


def test_what_leaves() -> None:
    made = operator("map", columns={"a": "a / 2", "c": "length(b)", "d": "nonsense("})
    assert made.output(SCHEMA) == Schema((("a", "double"), ("b", "string"), ("c", "int"), ("d", "unknown")))
    assert made.output(None) is None
    assert (("columns", "a"), "a / 2") in list(made.expressions())
