"""The kinds of `whorl.operators.native` that work on one row at a time, as Spark does them.

What a record carries stays with it, and a row that failed passes untouched (`whorl.query.frames`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whorl.operators.native import Explode, Native, Pass, Project, Rekey, Route, Rules, Select, Sort, Where
from whorl.operators.operator import ErrorPolicy
from whorl.query import frames
from whorl.query.attempts import computed, failure
from whorl.query.encode import as_json
from whorl.query.failing import judged
from whorl.query.frames import CHOICE, ERROR, FAILED, KEY, VALUE, carries, column, columns, hidden, keep, visible
from whorl.query.sorting import sorted_rows
from whorl.query.texts import key_of


def final(policy: ErrorPolicy) -> str:
    """What becomes of a row that fails. A query tries a row once: what fails on it would fail again."""
    return policy.then if policy.action == "retry" else policy.action


def together(inputs: Sequence[DataFrame]) -> DataFrame:
    """By column name; what one has and another has not is null there."""
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), inputs)


def row_step(native: Native, frame: DataFrame, id: str, action: str) -> DataFrame:
    """`action`: what becomes of a row on which the node `id` fails."""
    match native:
        case Pass():
            return frame
        case Where(condition):
            return _where(frame, condition, id, action)
        case Project(made):
            return _project(frame, made, id, action)
        case Select(condition, made):
            passed = _where(frame, condition, id, action) if condition else frame
            return _project(passed, made, id, action)
        case Explode():
            return _explode(frame, native, id, action)
        case Sort(by):
            return sorted_rows(frame, by)
        case Rekey(parts):
            return _rekey(frame, parts, id, action)
        case Route(choice):
            known, names = computed(frame.drop(CHOICE), [choice], id, action)
            return known.withColumnRenamed(names[0], CHOICE)
        case Rules(rules):
            return _rules(frame, rules, id, action)
        case _:
            raise TypeError(f"{native!r} does not work on one row at a time")


def chosen(frame: DataFrame, output: str) -> DataFrame:
    """The rows that a `Route` sends to this output."""
    return keep(frame, F.col(CHOICE) == output).drop(CHOICE)


def _where(frame: DataFrame, condition: str, id: str, action: str) -> DataFrame:
    known, names = computed(frame, [condition], id, action)
    return keep(known, F.col(names[0])).drop(*names)


def _project(frame: DataFrame, made: Sequence[tuple[str, str]], id: str, action: str) -> DataFrame:
    known, names = computed(frame, [sql for _, sql in made], id, action)
    return known.select(
        *columns(hidden(frame)), *[F.col(each).alias(name) for each, (name, _) in zip(names, made, strict=True)]
    )


def _explode(frame: DataFrame, native: Explode, id: str, action: str) -> DataFrame:
    known, names = computed(frame, [native.array], id, action)
    # A row that failed has no array, and must pass.
    array = F.col(names[0])
    one = F.array(F.get(array, F.lit(0))) if not native.outer else array
    passing = F.when(F.col(ERROR).isNotNull(), one).otherwise(array) if ERROR in frame.columns else array
    exploded = known.select("*", (F.explode_outer if native.outer else F.explode)(passing).alias("__whorl_element"))
    element = F.col("__whorl_element").alias(native.name)
    there = visible(frame)
    made = [element if name == native.name else column(name) for name in there]
    return exploded.select(*columns(hidden(frame)), *made, *([] if native.name in there else [element]))


def _rekey(frame: DataFrame, parts: Sequence[str], id: str, action: str) -> DataFrame:
    if not carries(frame):
        frame = frame.withColumn(KEY, F.lit(None).cast("binary"))
    known, names = computed(frame, parts, id, action)
    key = key_of([(F.col(name), known.schema[name].dataType) for name in names], of_step=True)
    return known.withColumn(KEY, frames.guarded(known, key)).drop(*names)


def _rules(frame: DataFrame, rules: Sequence[tuple[str, str]], id: str, action: str) -> DataFrame:
    able = able_to_fail(frame)
    known, names = computed(able, [sql for _, sql in rules], id, action)
    broken = [
        (~F.coalesce(F.col(each), F.lit(False)), f"ValueError: {Rules.broken(name, sql)}")
        for each, (name, sql) in zip(names, rules, strict=True)
    ]
    kept = [name for name in able.columns if name not in (ERROR, FAILED)]
    checked = known.select(*columns(kept), *failure(known, broken, id, action))
    return ended(checked, frame, id, action)


def able_to_fail(frame: DataFrame) -> DataFrame:
    """Rows that came from no record: the row itself will be the dead letter."""
    if ERROR in frame.columns:
        return frame
    nothing = F.lit(None).cast("string")
    row = as_json(frame, exact=False).cast("binary")
    return frame.select("*", row.alias(VALUE), nothing.alias(ERROR), nothing.alias(FAILED))


def ended(frame: DataFrame, before: DataFrame, id: str, action: str) -> DataFrame:
    """With `fail` the query ends here; rows that are skipped go no farther, unless others have to hear of it."""
    if action == "fail" or (action == "skip" and ERROR not in before.columns):
        rest = judged(frame, id, action)
        return rest if ERROR in before.columns else rest.select(*columns(before.columns))
    return frame
