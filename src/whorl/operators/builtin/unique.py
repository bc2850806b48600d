"""Operators that let each value pass once: distinct and deduplicate."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from whorl.operators.builtin.query_only import QueryOperator
from whorl.operators.native import Native, Unique
from whorl.operators.operator import Options
from whorl.schema import Schema

Paths = Iterable[tuple[tuple[str | int, ...], str]]


class DistinctOptions(Options):
    columns: tuple[str, ...] = Field((), description="the columns that leave it; left out: all")


class Distinct(QueryOperator):
    type = "distinct"
    summary = "Each combination of values once, for ever; no other columns."
    Options = DistinctOptions

    def native(self, schema: Schema | None) -> Native | None:
        return Unique(self.options.columns, narrow=bool(self.options.columns))

    def output(self, schema: Schema | None) -> Schema | None:
        names = self.options.columns
        return Schema(tuple((name, schema.type_of(name)) for name in names)) if schema and names else schema

    def columns(self) -> Paths:
        return [(("columns", index), name) for index, name in enumerate(self.options.columns)]


class DeduplicateOptions(Options):
    columns: tuple[str, ...] = Field((), description="what makes two rows the same; left out: all columns")
    within_watermark: bool = Field(
        False, description="values are forgotten once the watermark has passed, so that state does not grow for ever"
    )


class Deduplicate(QueryOperator):
    type = "deduplicate"
    summary = "Passes one row of each combination of values, whole; later ones are left out."
    Options = DeduplicateOptions

    def native(self, schema: Schema | None) -> Native | None:
        return Unique(self.options.columns, self.options.within_watermark)

    def columns(self) -> Paths:
        return [(("columns", index), name) for index, name in enumerate(self.options.columns)]
