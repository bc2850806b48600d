from __future__ import annotations

import pytest
from helpers_operators import operator, step

from whorl.operators.expressions import ExpressionError
from whorl.operators.operator import Shape
from whorl.schema import Schema

SCHEMA = Schema.of({"id": "long", "tags": "array<string>", "line": "string"})


def test_a_row_for_each_element() -> None:
    made = step("flat_map", SCHEMA, explode="tags", **{"as": "tag"})
    assert made.shape is Shape.FLAT_MAP
    assert list(made.call({"id": 1, "tags": ["a", None]})) == [
        {"id": 1, "tags": ["a", None], "tag": "a"}, {"id": 1, "tags": ["a", None], "tag": None},
    ]  # fmt: skip


def test_default_names() -> None:
    assert list(step("flat_map", SCHEMA, explode="tags").call({"tags": ["a"]})) == [{"tags": "a"}]
    assert list(step("flat_map", SCHEMA, explode="split(line, ' ')").call({"line": "x y"})) == [
        {"line": "x y", "col": "x"}, {"line": "x y", "col": "y"},
    ]  # fmt: skip


@pytest.mark.parametrize("tags", [None, []])
def test_outer(tags: list[str] | None) -> None:
    assert list(step("flat_map", SCHEMA, explode="tags").call({"tags": tags})) == []
    assert list(step("flat_map", SCHEMA, explode="tags", outer=True).call({"tags": tags})) == [{"tags": None}]


def test_what_leaves() -> None:
    assert operator("flat_map", explode="tags", **{"as": "tag"}).output(SCHEMA).type_of("tag") == "string"
    assert list(operator("flat_map", explode="tags").expressions()) == [(("explode",), "tags")]


def test_what_is_no_array() -> None:
    with pytest.raises(ExpressionError, match="not an array"):
        step("flat_map", SCHEMA, explode="id")
    with pytest.raises(TypeError, match="not an array"):
        step("flat_map", None, explode="id").call({"id": 5})
