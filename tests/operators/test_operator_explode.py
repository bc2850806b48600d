from __future__ import annotations

from helpers_operators import operator, step

from whorl.operators.native import Explode
from whorl.schema import Schema

SCHEMA = Schema.of({"id": "long", "tags": "array<string>"})


def test_a_row_for_each_element() -> None:
    made = step("explode", SCHEMA, column="tags", **{"as": "tag"})
    assert [row["tag"] for row in made.call({"id": 1, "tags": ["a", "b"]})] == ["a", "b"]
    assert list(step("explode", SCHEMA, column="tags", outer=True).call({"id": 1, "tags": []})) == [
        {"id": 1, "tags": None}
    ]


def test_it_is_what_flat_map_is() -> None:
    made = operator("explode", column="tags")
    assert made.native(SCHEMA) == Explode("tags", "tags") == operator("flat_map", explode="tags").native(SCHEMA)
    assert list(made.expressions()) == [(("column",), "tags")]
    assert made.output(SCHEMA) == Schema.of({"id": "long", "tags": "string"})
