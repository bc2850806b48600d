"""What operators are to Spark: the SQL that they give runs, and gives the columns they say it gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from helpers_operators import operator
from pyspark.sql import DataFrame, SparkSession

from whorl.operators.native import Project, Query
from whorl.operators.operator import Upstream
from whorl.schema import UNKNOWN, Schema, normal_type
from whorl.testing import OperatorHarness

pytestmark = pytest.mark.spark

SCHEMA = Schema.of(
    {"i": "int", "l": "long", "f": "float", "d": "double", "s": "string", "b": "boolean", "m": "decimal(6,2)", "at": "timestamp"}
)  # fmt: skip
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"i": 1, "l": 10, "f": 0.5, "d": 1.25, "s": "a", "b": True, "m": Decimal("1.50"), "at": NOON},
    {"i": -7, "l": 2**40, "f": 3.0, "d": -0.0, "s": "b", "b": False, "m": Decimal("-2.25"), "at": NOON + timedelta(seconds=70)},
    {"i": 3, "l": -5, "f": 1e10, "d": 1e300, "s": "a", "b": True, "m": Decimal("99.99"), "at": NOON + timedelta(seconds=90)},
]  # fmt: skip
NULLS: dict[str, Any] = dict.fromkeys(SCHEMA.names)


def frame(spark: SparkSession, schema: Schema, rows: list[dict[str, Any]], name: str) -> DataFrame:
    ddl = ", ".join(f"`{column}` {kind}" for column, kind in schema)
    made = spark.createDataFrame([tuple(row.get(column) for column in schema.names) for row in rows], ddl)
    made.createOrReplaceTempView(f"`{name}`")
    return made


def types(frame: DataFrame) -> dict[str, str]:
    return {name: normal_type(kind) for name, kind in frame.dtypes}


ROW_OPERATORS = [
    ("map", {"columns": {"d": "d * 2", "new": "concat(s, '!')", "i": "i + 1"}}),
    ("map", {"columns": {"l": "i", "i": "CAST(l % 7 AS int)"}}),
    ("select", {"columns": ["s", "d"]}),
    ("select", {"columns": {"x": "i * 2", "y": "s"}}),
    ("drop", {"columns": ["f", "b"]}),
    ("rename", {"columns": {"i": "l2", "s": "a b"}}),
    ("cast", {"columns": {"i": "long", "m": "double", "l": "string", "d": "decimal(20,4)"}}),
    ("fill", {"columns": {"i": 7, "s": "it's \\ none", "d": 2, "m": 1.5, "f": 0.1, "b": True, "at": "2026-01-01 00:00:00"}}),
    ("fill", {"value": 2.75}),
    ("fill", {"value": "x"}),
    ("fill", {"value": False}),
    ("add", {"column": "i", "value": 5}),
    ("add", {"column": "l", "value": -1}),
    ("add", {"column": "l", "value": 0.5}),
    ("add", {"column": "d", "value": 1}),
    ("add", {"column": "f", "value": 0.1}),
]  # fmt: skip


@pytest.mark.parametrize(("type", "options"), ROW_OPERATORS)
def test_both_hosts_give_the_same_rows(spark: SparkSession, type: str, options: dict[str, Any]) -> None:
    made = operator(type, **options)
    rows = ROWS if type == "add" else [*ROWS, NULLS]
    rows = [row for row in rows if type != "cast" or abs(row["d"] or 0) < 1e15]
    native = made.native(SCHEMA)
    assert isinstance(native, Project)
    result = frame(spark, SCHEMA, rows, "input").selectExpr(*(f"{sql} AS `{name}`" for name, sql in native.columns))
    stepped = [made.step(SCHEMA).call(row) for row in rows]
    assert [_utc(row.asDict()) for row in result.collect()] == stepped
    expected = made.output(SCHEMA)
    assert expected is not None and types(result) == dict(expected.columns)
    assert list(result.columns) == list(expected.names)


def _utc(row: dict[str, Any]) -> dict[str, Any]:
    return {name: each.astimezone(UTC) if isinstance(each, datetime) else each for name, each in row.items()}


@pytest.mark.parametrize(("column", "value"), [("i", 2**31 - 1), ("l", 2**63 - 1), ("i", None)])
def test_a_sum_that_does_not_fit_or_is_of_nothing_fails_in_both(spark: SparkSession, column: str, value: Any) -> None:
    made = operator("add", column=column)
    row = {**ROWS[0], column: value}
    native = made.native(SCHEMA)
    assert isinstance(native, Project)
    with pytest.raises((ValueError, OverflowError)):
        made.step(SCHEMA).call(row)
    with pytest.raises(Exception, match=r"OVERFLOW|not a number"):
        frame(spark, SCHEMA, [row], "input").selectExpr(*(sql for _, sql in native.columns)).collect()


QUERIES: list[tuple[str, dict[str, Any], list[tuple[Any, ...]]]] = [
    ("aggregate", {"by": ["s"], "columns": {"n": "count(*)", "total": "sum(i)", "top": "max(l) -- the most"}},
     [("a", 2, 4, 10), ("b", 1, -7, 2**40)]),
    ("aggregate", {"columns": {"n": "count(*)"}, "window": {"column": "at", "size": "1m"}},
     [(NOON, NOON + timedelta(minutes=1), 1), (NOON + timedelta(minutes=1), NOON + timedelta(minutes=2), 2)]),
    ("aggregate", {"by": ["s"], "columns": {"n": "avg(i)"}, "window": {"column": "at", "gap": "30s"}},
     [("a", NOON, NOON + timedelta(seconds=30), 1.0), ("a", NOON + timedelta(seconds=90), NOON + timedelta(seconds=120), 3.0),
      ("b", NOON + timedelta(seconds=70), NOON + timedelta(seconds=100), -7.0)]),
    ("aggregate", {"columns": {"n": "count(*)"}, "window": {"column": "at", "size": "2m", "slide": "1m"}},
     [(NOON - timedelta(minutes=1), NOON + timedelta(minutes=1), 1), (NOON, NOON + timedelta(minutes=2), 3),
      (NOON + timedelta(minutes=1), NOON + timedelta(minutes=3), 2)]),
    ("sql", {"query": "CREATE OR REPLACE TEMP VIEW big AS SELECT * FROM `my-rows` WHERE i > 0;\n"
                      "WITH c AS (SELECT s, i * 2 AS twice FROM big) SELECT s, sum(twice) AS total FROM c GROUP BY s;"},
     [("a", 8)]),
]  # fmt: skip


@pytest.mark.parametrize(("type", "options", "expected"), QUERIES)
def test_queries_run_and_have_the_columns_they_say(
    spark: SparkSession, type: str, options: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    made = operator(type, **options).reading([Upstream("my-rows", SCHEMA)])
    frame(spark, SCHEMA, ROWS, "my-rows")
    result = run(spark, made.native(SCHEMA))
    assert sorted(_tuple(row) for row in result.collect()) == expected
    _agrees(result, made.output(SCHEMA))


def run(spark: SparkSession, native: Any) -> DataFrame:
    assert isinstance(native, Query)
    for statement in native.statements[:-1]:
        spark.sql(statement)
    return spark.sql(native.statements[-1])


def _tuple(row: Any) -> tuple[Any, ...]:
    return tuple(_utc(row.asDict()).values())


def _agrees(result: DataFrame, said: Schema | None) -> None:
    assert said is not None and list(said.names) == result.columns
    for name, kind in said:
        assert kind in (UNKNOWN, types(result)[name]), name


LEFT = Schema.of({"id": "long", "at": "timestamp", "x": "string"})
RIGHT = Schema.of({"id": "long", "paid": "timestamp", "y": "string"})
JOINS: list[tuple[dict[str, Any], list[tuple[Any, ...]]]] = [
    ({"on": "id"}, [(1, "x1", "y1"), (2, "x2", "y2")]),
    ({"on": ["id"], "kind": "left"}, [(1, "x1", "y1"), (2, "x2", "y2"), (3, "x3", None)]),
    ({"on": "id", "kind": "right"}, [(1, "x1", "y1"), (2, "x2", "y2"), (4, None, "y4")]),
    ({"on": "id", "kind": "full"}, [(1, "x1", "y1"), (2, "x2", "y2"), (3, "x3", None), (4, None, "y4")]),
    ({"on": "id", "within": "1m", "time": ["at", "paid"]}, [(1, "x1", "y1")]),
    ({"on": "id", "kind": "semi"}, [(1, "x1"), (2, "x2")]),
]


@pytest.mark.parametrize(("options", "expected"), JOINS)
def test_joins(spark: SparkSession, options: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    late = NOON + timedelta(hours=1)
    frame(spark, LEFT, [{"id": n, "at": NOON, "x": f"x{n}"} for n in (1, 2, 3)], "l")
    frame(spark, RIGHT, [{"id": n, "paid": NOON if n < 2 else late, "y": f"y{n}"} for n in (1, 2, 4)], "r-2")
    made = operator("join", **options).reading([Upstream("l", LEFT), Upstream("r-2", RIGHT)])
    result = run(spark, made.native(None))
    shown = result.drop("at", "paid").collect()
    assert sorted(map(_tuple, shown), key=str) == expected
    _agrees(result, made.output(None))


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi"])
def test_a_join_of_streams_gives_the_same_rows_in_tasks(spark: SparkSession, kind: str) -> None:
    """Times to the microsecond, at both ends of the interval and beside them."""
    moments = [NOON + timedelta(microseconds=each) for each in (0, 1, 500, 1999, 2000, 2001, 3500, 4001)]
    left = [{"id": n % 2, "at": moment, "x": f"x{n}"} for n, moment in enumerate(moments)]
    right = [{"id": n % 3, "paid": moment, "y": f"y{n}"} for n, moment in enumerate(reversed(moments))]
    frame(spark, LEFT, left, "l")
    frame(spark, RIGHT, right, "r")
    made = operator("join", on="id", kind=kind, within=0.002, time=["at", "paid"]).reading(
        [Upstream("l", LEFT, time="at"), Upstream("r", RIGHT, time="paid")]
    )
    in_query = sorted((list(_utc(row.asDict()).items()) for row in run(spark, made.native(None)).collect()), key=str)
    harness = OperatorHarness(made.step(None).call)
    for input, rows in (("l", left[:4]), ("r", right), ("l", left[4:])):
        for row in rows:
            harness.send(str(row["id"]), row, input=input)
    harness.watermark(NOON + timedelta(seconds=1))
    assert in_query and sorted((list(row.items()) for row in harness.rows), key=str) == in_query


def test_a_join_by_condition(spark: SparkSession) -> None:
    frame(spark, LEFT, [{"id": 1, "at": NOON, "x": "k"}], "l")
    other = Schema.of({"code": "string", "y": "string"})
    frame(spark, other, [{"code": "k", "y": "found"}, {"code": "z", "y": "not"}], "codes")
    made = operator("join", on="l.x = codes.code -- by name").reading([Upstream("l", LEFT), Upstream("codes", other)])
    result = run(spark, made.native(None))
    assert [_tuple(row) for row in result.collect()] == [(1, NOON, "k", "k", "found")]
    _agrees(result, made.output(None))
