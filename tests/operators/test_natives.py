"""What operators are to Spark, as data; `test_natives_spark.py` runs it."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_operators import operator

from whorl.operators.native import Call, Explode, Native, Pass, Project, Rekey, Route, Rules, Unique, Where
from whorl.schema import UNKNOWN, Schema

SCHEMA = Schema.of({"a": "int", "b": "string", "tags": "array<string>", "m": "decimal(9,2)"})


def native(type: str, schema: Schema | None = SCHEMA, **options: Any) -> Native | None:
    return operator(type, **options).native(schema)


def test_row_operators() -> None:
    assert native("forward", None) == native("union", None) == Pass()
    assert native("filter", None, where="a > 1") == Where("a > 1")
    assert native("select", columns=["b", "a"]) == Project((("b", "`b`"), ("a", "`a`")))
    assert native("drop", columns=["a", "tags", "m"]) == Project((("b", "`b`"),))
    assert native("flat_map", explode="tags") == Explode("tags", "tags")
    assert native("flat_map", explode="split(b, ',')", outer=True) == Explode("split(b, ',')", "col", outer=True)
    assert native("key_by", key="lower(b)") == Rekey(("lower(b)",))
    assert native("key_by", key=["a", "b"]) == Rekey(("`a`", "`b`"))
    assert native("validate", rules={"some": "a > 0"}) == Rules((("some", "a > 0"),))
    branch = native("branch", outputs=[{"name": "it's", "where": "a > 1 -- big"}])
    assert branch == Route("CASE WHEN (a > 1 -- big\n) THEN 'it\\'s' ELSE NULL END")


def test_columns_keep_their_places() -> None:
    made = native("map", columns={"a": "a + 1", "new": "b"})
    assert made == Project((("a", "a + 1"), ("b", "`b`"), ("tags", "`tags`"), ("m", "`m`"), ("new", "b")))
    renamed = native("rename", columns={"a": "x y"})
    assert isinstance(renamed, Project) and renamed.columns[0] == ("x y", "`a`")


@pytest.mark.parametrize(
    ("type", "options"),
    [
        ("map", {"columns": {"x": "1"}}),
        ("select", {"columns": ["a"]}),
        ("drop", {"columns": ["a"]}),
        ("rename", {"columns": {"a": "x"}}),
        ("cast", {"columns": {"a": "long"}}),
        ("fill", {"value": 1}),
        ("add", {"column": "a"}),
        ("flat_map", {"explode": "tags"}),
    ],
)
def test_columns_must_be_known(type: str, options: dict[str, Any]) -> None:
    assert native(type, None, **options) is None


@pytest.mark.parametrize(
    ("type", "options"),
    [
        ("add", {"column": "b"}),
        ("add", {"column": "m"}),
        ("add", {"column": "a", "value": 2**64}),
        ("key_by", {"key": "tags"}),
        ("map", {"columns": {"A": "1"}}),
        ("rename", {"columns": {"a": "b"}}),
        ("rename", {"columns": {"a": "B"}}),
        ("drop", {"columns": ["a", "b", "tags", "m"]}),
        ("fill", {"columns": {"tags": "x"}}),
        ("flat_map", {"explode": "tags", "as": "A"}),
    ],
)
def test_what_spark_would_not_do_alike_stays_in_tasks(type: str, options: dict[str, Any]) -> None:
    assert native(type, **options) is None


def test_a_fill_of_an_open_column_stays_in_tasks() -> None:
    assert native("fill", Schema((("x", UNKNOWN),)), value=1) is None


def test_user_code_says_what_it_returns() -> None:
    assert native("python", function="m.f") is None
    assert native("python", function="m.f", returns={"a": "long"}) == Call()


def test_unique() -> None:
    assert native("distinct") == Unique()
    assert native("distinct", columns=["b"]) == Unique(("b",), narrow=True)
    assert native("deduplicate", columns=["b"], within_watermark=True) == Unique(("b",), within_watermark=True)
    assert operator("distinct", columns=["b"]).output(SCHEMA) == Schema((("b", "string"),))
    assert operator("deduplicate", columns=["b"]).output(SCHEMA) == SCHEMA


def test_the_type_of_a_sum() -> None:
    whole = operator("add", column="a", value=1).output(SCHEMA)
    fraction = operator("add", column="a", value=0.5).output(SCHEMA)
    assert whole is not None and whole.type_of("a") == "int"
    assert fraction is not None and fraction.type_of("a") == "double"
