"""Rows against the columns of a table that is there: what does not fit fails alone, instead of the batch."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from whorl.errors import PipelineError
from whorl.query.attempts import failure
from whorl.query.frames import ERROR, FAILED, column, columns, hidden, visible
from whorl.query.steps import able_to_fail


def fitted(rows: DataFrame, table: StructType, what: str, id: str, rules: Mapping[str, str]) -> DataFrame:
    """With the types of the table. `rules`: by name, SQL that must not be false."""
    known = {field.name.lower(): field for field in table.fields}
    unknown = [name for name in visible(rows) if name.lower() not in known]
    if unknown:
        raise PipelineError(
            f"{what} has no column '{unknown[0]}'; it has {', '.join(table.names)}",
            hint="drop it before, rename it, or add it to the table",
            code="column",
        )
    able, broken, made = able_to_fail(rows), [], []
    for name in visible(rows):
        field, value = known[name.lower()], column(name)
        cast = value if rows.schema[name].dataType == field.dataType else value.try_cast(field.dataType)
        made.append(cast.alias(name))
        broken.append(
            (
                value.isNotNull() & cast.isNull(),
                f"ValueError: column '{name}' does not fit {field.dataType.simpleString()} of {what}",
            )
        )
        if not field.nullable:
            broken.append((value.isNull(), f"ValueError: column '{name}' of {what} must not be null"))
    missing = [
        field.name
        for field in table.fields
        if not field.nullable and field.name.lower() not in map(str.lower, visible(rows))
    ]
    broken += [(F.lit(True), f"ValueError: column '{name}' of {what} must not be null") for name in missing]
    broken += [(_is_false(sql), f"ValueError: '{name}' of {what} is not kept: {sql}") for name, sql in rules.items()]
    carried = [name for name in hidden(able) if name not in (ERROR, FAILED)]
    return able.select(*columns(carried), *failure(able, broken, id, "dead_letter"), *made)


def _is_false(sql: str) -> Column:
    return ~F.coalesce(F.expr(sql), F.lit(True))
