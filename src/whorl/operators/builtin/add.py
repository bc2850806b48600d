"""The add operator: a constant added to a number.

What leaves has the column's type: a sum that it does not hold fails the record. A fraction added to whole numbers gives doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from pydantic import Field

from whorl.formats.conversions import narrowed, single
from whorl.operators.builtin.amounts import no_number, number
from whorl.operators.native import Native
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.record import Row
from whorl.operators.sqltext import kept, literal, projection, quoted, text
from whorl.schema import UNKNOWN, Schema

_FITS: dict[str, Callable[[Any], Any]] = {"int": narrowed("int"), "long": narrowed("long"), "float": single}
_NATIVE = ("int", "long", "float", "double")


class AddOptions(Options):
    value: int | float = Field(1, description="the number to add")
    column: str = Field("value", description="the column that holds the number")


class Add(OperatorType):
    type = "add"
    summary = "Adds a constant to a number. Whole numbers stay whole, text stays text: '41' gives '42'."
    Options = AddOptions

    def step(self, schema: Schema | None) -> Step:
        column, amount = self.options.column, self.options.value
        fit = _FITS.get(self._kind(schema))

        def add(row: Row) -> Row:
            return {**row, column: _sum(row.get(column), amount, column)}

        def add_fitting(row: Row) -> Row:
            return {**row, column: fit(_sum(row.get(column), amount, column))}  # type: ignore[misc]

        return Step(Shape.MAP, add_fitting if fit else add)

    def native(self, schema: Schema | None) -> Native | None:
        amount = literal(self.options.value)
        if schema is None or amount is None or schema.type_of(self.options.column) not in _NATIVE:
            return None
        column, kind = quoted(self.options.column), self._kind(schema)
        working = "bigint" if kind in ("int", "long") else "double"
        added = f"CAST(CAST({column} AS {working}) + CAST({amount} AS {working}) AS {kind})"
        return projection(kept(schema, {self.options.column: f"coalesce({added}, {_refusal(self.options.column)})"}))

    def output(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        return Schema(tuple((n, self._kind(schema) if n == self.options.column else kind) for n, kind in schema))

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("column",), self.options.column)]

    def _kind(self, schema: Schema | None) -> str:
        """Of the sum."""
        kind = schema.type_of(self.options.column) if schema else UNKNOWN
        return "double" if kind in ("int", "long") and isinstance(self.options.value, float) else kind


def _refusal(column: str) -> str:
    return f"raise_error({text(no_number(None, column))})"


def _sum(value: Any, amount: int | float, column: str) -> Any:
    kind = value.__class__
    if kind is int or kind is float:
        return value + amount
    if kind is str:
        return str(number(value, column) + amount)
    if isinstance(value, Decimal):
        return value + Decimal(str(amount))
    raise ValueError(no_number(value, column))
