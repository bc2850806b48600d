"""Operators that run in queries: what they refuse, what they tell the planner. And validate, which runs in both hosts."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.errors import PipelineError
from whorl.operators.native import Query, Rules, Select
from whorl.operators.operator import OperatorType, Upstream
from whorl.schema import Schema

SCHEMA = Schema.of({"id": "string", "amount": "double", "at": "timestamp"})


def placed(type: str, *upstreams: Upstream, **options: Any) -> OperatorType:
    return operator(type, **options).reading(upstreams or [Upstream("orders", SCHEMA)])


def codes(made: OperatorType) -> list[str]:
    return [fault.code for fault in made.faults()]


@pytest.mark.parametrize("type", ["sql", "aggregate", "distinct", "deduplicate", "join"])
def test_they_have_no_step(type: str) -> None:
    options = {"sql": {"query": "SELECT 1 AS x"}, "aggregate": {"columns": {"n": "count(*)"}}, "join": {"on": "id"}}
    made = operator(type, **options.get(type, {}))
    assert not made.in_tasks
    with pytest.raises(PipelineError, match="runs in a query alone"):
        made.step(SCHEMA)


def test_validate() -> None:
    check = step("validate", SCHEMA, rules={"positive": "amount > 0", "named": "id IS NOT NULL"}).call
    row = {"id": "a", "amount": 1.0, "at": None}
    assert check(row) is row
    for wrong, rule in [({"amount": -1.0}, "positive"), ({"amount": None}, "positive"), ({"id": None}, "named")]:
        with pytest.raises(ValueError, match=f"rule '{rule}' is not kept") as raised:
            check({**row, **wrong})
        assert str(raised.value) == Rules.broken(rule, {"positive": "amount > 0", "named": "id IS NOT NULL"}[rule])


def test_rules_are_conditions() -> None:
    with pytest.raises(PipelineError, match="not a condition"):
        step("validate", SCHEMA, rules={"x": "amount + 1"})


def test_sql_of_rows_is_a_select() -> None:
    made = placed("sql", query="SELECT id, amount * 2 AS twice FROM orders WHERE amount > 1")
    assert made.native(SCHEMA) == Select("amount > 1", (("id", "id"), ("twice", "amount * 2")))
    assert isinstance(made.native(None), Query)


@pytest.mark.parametrize(
    "more", [{"udfs": {"f": {"function": "m.f", "returns": "long"}}}, {"watermark": {"column": "at", "delay": "5s"}}]
)
def test_sql_of_rows_that_needs_more_is_a_query(more: dict[str, Any]) -> None:
    native = placed("sql", query="SELECT id FROM orders", **more).native(SCHEMA)
    assert isinstance(native, Query)
    assert native.udfs == ((("f", "m.f", "long"),) if "udfs" in more else ())
    assert native.watermark == (("at", 5.0) if "watermark" in more else None)


def test_what_the_planner_is_told() -> None:
    native = placed("sql", query="SELECT count(*) AS n FROM orders GROUP BY window(at, '1 s')", mode="update").native(
        None
    )
    assert isinstance(native, Query)
    assert (native.tables, native.mode, native.aggregates, native.windowed, native.joins) == (
        ("orders",), "update", True, True, False,
    )  # fmt: skip


def test_tables_that_are_not_there() -> None:
    assert codes(placed("sql", query="SELECT id FROM orders")) == []
    assert codes(placed("sql", query="SELECT id FROM INPUT")) == []
    assert codes(placed("sql", query="SELECT id FROM ordrs")) == ["table"]
    two = (Upstream("a", SCHEMA), Upstream("b_big", SCHEMA))
    assert codes(placed("sql", *two, query="SELECT a.id FROM a JOIN b_big ON a.id = b_big.id")) == []
    assert codes(placed("sql", *two, query="SELECT id FROM input")) == ["table"]
    (fault,) = placed("sql", *two, query="SELECT id FROM b.big").faults()
    assert fault.hint == "write b_big" and fault.offset == 15
    assert codes(placed("sql", query="SELECT id FROM parquet.`x`")) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": {}}, "at least 1"),
        ({"by": ["n"], "columns": {"N": "count(*)"}}, "same name"),
        ({"columns": {"window_start": "count(*)"}, "window": {"column": "at", "size": "1m"}}, "same name"),
        ({"columns": {"n": "count(*)"}, "window": {"column": "at"}}, "either 'size' or 'gap'"),
        ({"columns": {"n": "count(*)"}, "window": {"column": "at", "size": "1m", "gap": "1m"}}, "either 'size' or 'gap'"),
        ({"columns": {"n": "count(*)"}, "window": {"column": "at", "size": "1m", "slide": "2m"}}, "at least as long"),
        ({"columns": {"n": "count(*)"}, "window": {"column": "at", "gap": "1m", "slide": "1m"}}, "at least as long"),
    ],
)  # fmt: skip
def test_aggregates_that_make_no_sense(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        operator("aggregate", **options)


def test_columns_of_an_aggregate() -> None:
    made = placed("aggregate", by=["id"], columns={"n": "count(*)"}, window={"column": "at", "size": "1m"})
    assert made.output(SCHEMA) == Schema.of(
        {"id": "string", "window_start": "timestamp", "window_end": "timestamp", "n": "long"}
    )
    assert codes(placed("aggregate", columns={"n": "last(id)"}, window={"column": "amount", "size": "1m"})) == [
        "replay", "type",
    ]  # fmt: skip
    assert codes(placed("aggregate", Upstream("a"), Upstream("b"), columns={"n": "count(*)"})) == ["inputs"]


def test_joins_that_make_no_sense() -> None:
    left, right = Upstream("l", SCHEMA), Upstream("r", Schema.of({"id": "string", "amount": "long", "t": "string"}))
    assert codes(placed("join", left, on="id")) == ["inputs"]
    assert codes(placed("join", left, right, on="id")) == ["column"]
    assert codes(placed("join", left, right, on="id", kind="semi")) == []
    assert codes(placed("join", left, right, on=["id", "amount", "x"])) == ["column", "column"]
    assert codes(placed("join", left, right, on=["id", "amount"], within="1s", time=["at", "t"])) == ["type"]
    assert placed("join", left, Upstream("r"), on="id").native(None) is None
    with pytest.raises(ValidationError, match="go together"):
        operator("join", on="id", within="1s")
