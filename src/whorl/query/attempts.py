"""Expressions that may raise on a row, so that one bad row does not fail a whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from whorl.query.frames import ERROR, FAILED, SKIPPED, alive, columns, guarded, once

_TRIED = "__whorl_tried"
_RESULT = "__whorl_result"
_NEVER_RAISE = {
    "Alias", "AttributeReference", "Literal", "EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan",
    "LessThanOrEqual", "And", "Or", "Not", "IsNull", "IsNotNull", "In", "Coalesce", "If", "CaseWhen", "GetStructField", "Upper",
    "Lower", "Length", "Concat", "StringTrim", "StartsWith", "EndsWith", "Contains", "UnresolvedAlias", "Sha2", "Md5", "Substring",
    "Greatest", "Least", "ConcatWs",
}  # fmt: skip
_OF_DOUBLES = {"Add", "Subtract", "Multiply", "UnaryMinus"}
_WIDENING = {
    ("int", "bigint"),
    ("int", "double"),
    ("bigint", "double"),
    ("float", "double"),
    ("int", "float"),
    ("string", "binary"),
}


def computed(frame: DataFrame, sqls: Sequence[str], id: str, action: str) -> tuple[DataFrame, list[str]]:
    """The frame with a column for each expression, and their names. Where one raises, the row has failed in the node `id`; with
    `fail`, and where rows carry no record that could be a dead letter, Spark's own error ends the query."""
    names = [f"{_RESULT}_{index}" for index in range(len(sqls))]
    risky = [index for index, sql in enumerate(sqls) if _may_raise(frame, sql)]
    if action == "fail" or ERROR not in frame.columns or not risky:
        made = [guarded(frame, F.expr(sql)) if index in risky else F.expr(sql) for index, sql in enumerate(sqls)]
        return frame.select("*", *[each.alias(name) for each, name in zip(made, names, strict=True)]), names
    tried = frame.select("*", *[_tried(frame, sqls[index], index) for index in risky])
    error = failure(tried, [(tried[f"{_TRIED}_{i}"].isNull(), _message(sqls[i])) for i in risky], id, action)
    results = [
        (F.col(f"{_TRIED}_{index}.v") if index in risky else F.expr(sql)).alias(names[index])
        for index, sql in enumerate(sqls)
    ]
    kept = [name for name in frame.columns if name not in (ERROR, FAILED)]
    return tried.select(*columns(kept), *error, *results), names


def failure(frame: DataFrame, broken: Sequence[tuple[Column, Column | str]], id: str, action: str) -> list[Column]:
    """The columns ERROR and FAILED, where the first of these that is true of a row that is alive is what has failed."""
    living = alive(frame)
    message, who = F.col(ERROR), F.col(FAILED)
    if not broken:
        return [message, who]
    found = F.coalesce(*[F.when(bad, SKIPPED if action == "skip" else words) for bad, words in broken])
    found = found if living is None else F.when(living, found)
    return [
        F.coalesce(message, found).alias(ERROR),
        F.coalesce(who, F.when(found.isNotNull(), F.lit(id))).alias(FAILED),
    ]


def _message(sql: str) -> str:
    return f"ArithmeticError: '{sql}' fails on this row"


def _tried(frame: DataFrame, sql: str, index: int) -> Column:
    return once(guarded(frame, attempt(frame, F.struct(F.expr(sql).alias("v"))))).alias(f"{_TRIED}_{index}")


def attempt(frame: DataFrame, made: Column) -> Column:
    """Null where computing it raises. Wrap a struct around what may itself be null."""
    jvm: Any = frame.sparkSession._jvm
    utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
    tried = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(utils.expression(made._jc))
    return ClassicColumn(utils.column(tried))


def _may_raise(frame: DataFrame, sql: str) -> bool:
    """Said of all but those of which it is known that they do not: an attempt costs a little."""
    analyzed = frame.select(F.expr(sql))._jdf.queryExecution().analyzed()
    return _risky(analyzed.expressions().head())


def _risky(expression: Any) -> bool:
    name = expression.nodeName()
    kind = expression.dataType().catalogString()
    children = expression.children()
    inside = [children.apply(index) for index in range(children.size())]
    if name in _OF_DOUBLES:
        fine = kind in ("double", "float")
    elif name == "Cast":
        fine = (
            kind == "string"
            or inside[0].nodeName() == "Literal"
            or (inside[0].dataType().catalogString(), kind) in _WIDENING
        )
    else:
        fine = name in _NEVER_RAISE
    return not fine or any(_risky(each) for each in inside)
