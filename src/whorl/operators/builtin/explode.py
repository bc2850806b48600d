"""Operators that make a row of each element of an array: flat_map, of an expression, and explode, of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import Field

from whorl.operators.builtin.expression import Paths, expression_type
from whorl.operators.expressions import ExpressionError, compile_expression
from whorl.operators.native import Explode as Exploded
from whorl.operators.native import Native
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.record import Row
from whorl.operators.sqltext import told_apart
from whorl.schema import UNKNOWN, Schema


class _ElementOptions(Options):
    as_: str = Field(
        "", alias="as", description="column of the element; default the exploded column's own name, else 'col'"
    )
    outer: bool = Field(False, description="an empty or null array gives one row with null, instead of none")


class FlatMapOptions(_ElementOptions):
    explode: str = Field(description="column or SQL expression that gives an array; each element becomes a row")


class ExplodeOptions(_ElementOptions):
    column: str = Field(
        description="the column, or the SQL expression, that holds an array; each element becomes a row"
    )


class _Elements(OperatorType):
    _array: ClassVar[str]
    """The option that gives the array."""

    @property
    def array(self) -> str:
        sql: str = getattr(self.options, self._array)
        return sql

    def step(self, schema: Schema | None) -> Step:
        compiled = compile_expression(self.array, schema)
        if compiled.type != UNKNOWN and not compiled.type.startswith("array<"):
            raise ExpressionError(f"'{self.array}' is a {compiled.type}, not an array", code="type")
        return Step(Shape.FLAT_MAP, _explode(compiled.function, self._name(), self.options.outer))

    def native(self, schema: Schema | None) -> Native | None:
        if schema is None or not told_apart({*schema.names, self._name()}):
            return None
        return Exploded(self.array, self._name(), self.options.outer)

    def output(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        kind = expression_type(self.array, schema)
        element = kind[len("array<") : -1] if kind.startswith("array<") else UNKNOWN
        return Schema(tuple((dict(schema.columns) | {self._name(): element}).items()))

    def expressions(self) -> Paths:
        return [((self._array,), self.array)]

    def _name(self) -> str:
        source = self.array.strip().strip("`")
        return self.options.as_ or (source if source.isidentifier() else "col")


class FlatMap(_Elements):
    type = "flat_map"
    summary = "A row for each element of an array; the other columns are repeated."
    Options = FlatMapOptions
    _array = "explode"


class Explode(_Elements):
    type = "explode"
    summary = "A row for each element of an array column, as `flat_map` makes them."
    Options = ExplodeOptions
    _array = "column"


def _explode(array: Callable[[Row], Any], name: str, outer: bool) -> Callable[[Row], list[Row]]:
    nothing: list[Any] = [None] if outer else []

    def explode(row: Row) -> list[Row]:
        elements = array(row)
        if not isinstance(elements, list | tuple | None):
            raise TypeError(f"'{name}' is made from {elements!r}, which is not an array")
        return [{**row, name: element} for element in elements or nothing]

    return explode
