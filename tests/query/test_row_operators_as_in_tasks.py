"""The law of row operators: what Spark makes of a row is what the operator's step makes of it, or both fail.

Many operators over many rows are a few Spark jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hosts import local
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.operators.test_expressions_spark import DDL, INTERPRETED, ROW, SCHEMA, _compiles, equal, expressions, plain

from whorl.operators.native import Native
from whorl.operators.operator import OperatorType, Shape
from whorl.operators.registry import OPERATORS
from whorl.query.frames import CHOICE, ERROR, FAILED, KEY, from_nowhere, visible
from whorl.query.steps import row_step

pytestmark = pytest.mark.spark
Outcome = list[tuple[Any, ...]] | str
RAISED = "raised"


@dataclass(frozen=True)
class Case:
    """An operator, as text that says which."""

    type: str
    options: Any

    @property
    def operator(self) -> OperatorType:
        made = OPERATORS[self.type]
        return made(made.Options.model_validate(self.options))


BOOLEAN = expressions("bool", 3)
ANY = st.sampled_from(["int", "long", "real", "dec", "text", "bool", "day", "time"]).flatmap(
    lambda kind: expressions(kind, 3)
)
KEYS = st.sampled_from(["int", "long", "real", "dec", "text", "bool", "day", "time"]).flatmap(
    lambda kind: expressions(kind, 2)
)
CASES = st.one_of(
    st.builds(lambda sql: Case("filter", {"where": sql}), BOOLEAN),
    st.builds(lambda a, b: Case("map", {"columns": {"i": a, "made": b}}), ANY, ANY),
    st.builds(lambda a, b: Case("select", {"columns": {"p": a, "q": b, "s": "s"}}), ANY, ANY),
    st.builds(lambda sql: Case("key_by", {"key": sql}), KEYS),
    st.builds(lambda names: Case("key_by", {"key": names}), st.lists(st.sampled_from(["i", "l", "s", "b", "t", "dt", "m"]), min_size=2, max_size=4, unique=True)),
    st.builds(lambda a, b: Case("branch", {"outputs": [{"name": "x", "where": a}, {"name": "y", "where": b}], "default": "z"}), BOOLEAN, BOOLEAN),
    st.builds(lambda a, b: Case("validate", {"rules": {"one": a, "two": b}}), BOOLEAN, BOOLEAN),
    st.builds(lambda array, name, outer: Case("flat_map", {"explode": array, "as": name, "outer": outer}),
              st.sampled_from(["a", "w", "split(s, 'X')", "array(i, j, null)"]), st.sampled_from(["", "each", "i"]), st.booleans()),
)  # fmt: skip
FIXED = [
    Case("forward", {}),
    Case("drop", {"columns": ["a", "mp", "st"]}),
    Case("rename", {"columns": {"i": "renamed", "j": "i"}}),
    Case("cast", {"columns": {"num": "int", "l": "string", "d": "long"}}),
    Case("cast", {"columns": {"iso": "timestamp", "m": "decimal(4,1)", "b": "int"}}),
    Case("fill", {"value": 0}),
    Case("fill", {"columns": {"s": "none", "d": 1.5, "b": True}}),
    Case("add", {"column": "i", "value": 2}),
    Case("add", {"column": "d", "value": 0.5}),
    Case("select", {"columns": ["st", "mp", "w", "m"]}),
    Case("flatten", {}),
    Case("flatten", {"columns": ["st"], "separator": "."}),
    Case("explode", {"column": "a", "as": "each", "outer": True}),
    Case("mask", {"columns": {"s": "hash", "i": "hash", "l": "redact", "num": "last2", "d": None}, "salt": "pepper'"}),
    Case("sample", {"fraction": 0.5, "by": ["s", "i"], "seed": "x"}),
    Case("sample", {"fraction": 1, "by": "l"}),
]


def in_tasks(case: Case, rows: list[dict[str, Any]]) -> list[Outcome]:
    """For each row: the rows that leave, with the output or key they go by, or that it failed."""
    step = case.operator.step(SCHEMA)
    return [_stepped(step.shape, step.call, row) for row in rows]


def _stepped(shape: Shape, call: Any, row: dict[str, Any]) -> Outcome:
    try:
        result = None if shape is Shape.PASS else call(row)
    except (ValueError, ArithmeticError, LookupError, TypeError):
        return RAISED
    match shape:
        case Shape.PASS:
            return [(None, row)]
        case Shape.FILTER:
            return [(None, row)] if result else []
        case Shape.MAP:
            return [(None, result)]
        case Shape.FLAT_MAP:
            return [(None, each) for each in result]
        case _:
            return [(result, row)] if shape is Shape.KEY or result is not None else []


def in_a_query(session: SparkSession, case: Case, native: Native, frame: DataFrame, count: int) -> list[Outcome]:
    made = row_step(native, frame, "op", "dead_letter")
    way: Column = F.col(CHOICE) if case.type == "branch" else F.col(KEY)
    names = [name for name in visible(made) if name != "at"]
    rows = made.select(
        F.col("__whorl_at"),
        F.col(ERROR),
        F.col(FAILED),
        way.alias("way"),
        F.struct(*[F.col(f"`{n}`") for n in names]).alias("row"),
    )
    found: list[Outcome] = [[] for _ in range(count)]
    for at, error, failed, by, row in rows.collect():
        if error is not None:
            assert failed == "op"
            found[at] = RAISED
        elif case.type != "branch" or by is not None:
            found[at].append((bytes(by) if isinstance(by, bytearray) else by, plain(row)))
    return found


def same(one: Outcome, other: Outcome) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return len(one) == len(other) and all(
        a[0] == b[0] and list(a[1]) == list(b[1]) and all(_equal(a[1][name], b[1][name]) for name in a[1])
        for a, b in zip(one, other, strict=True)
    )


def _told(outcome: Outcome, row: dict[str, Any]) -> Any:
    """Without the columns that stayed."""
    if isinstance(outcome, str):
        return outcome
    return [(by, {n: v for n, v in made.items() if n not in row or not _equal(v, row[n])}) for by, made in outcome]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return equal(one, other)


def assert_same(session: SparkSession, cases: list[Case], rows: list[dict[str, Any]]) -> int:
    rows = [{name: row[name] for name in SCHEMA.names} for row in rows]
    data = [(at, *(row[name] for name in SCHEMA.names)) for at, row in enumerate(rows)]
    frame = from_nowhere(local(session.createDataFrame(data, f"__at int, {DDL}")).withColumnRenamed("__at", "at"))
    frame = frame.withColumnRenamed("at", "__whorl_at")
    natives = [(case, case.operator.native(SCHEMA)) for case in cases]
    differences, compared = [], 0
    for case, native in natives:
        if native is None:
            continue
        compared += 1
        query = in_a_query(session, case, native, frame, len(rows))
        for row, one, other in zip(rows, in_tasks(case, rows), query, strict=True):
            if not same(one, other):
                differences.append(f"{case} on {row}:\n    {_told(one, row)}\n    in Spark {_told(other, row)}")
    assert not differences, "\n" + "\n".join(differences[:5])
    return compared


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    for name, value in INTERPRETED.items():
        own.conf.set(name, value)
    return own


def usable(case: Case) -> bool:
    try:
        case.operator.step(SCHEMA)
    except Exception:
        return False
    return all(_compiles(sql) for _, sql in case.operator.expressions())


@settings(
    max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(cases=st.lists(CASES, min_size=12, max_size=12), rows=st.lists(ROW, min_size=15, max_size=15))
def test_every_row_operator(session: SparkSession, cases: list[Case], rows: list[dict[str, Any]]) -> None:
    usables = [case for case in cases if usable(case)]
    assert len(usables) > len(cases) * 0.6
    assert assert_same(session, [*usables, *FIXED], rows) > len(FIXED)
