"""Operators without expressions: forward, union, add, drop, rename, fill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from pydantic import Field, model_validator

from whorl.errors import PipelineError
from whorl.operators.expressions.casts import conversion
from whorl.operators.expressions.columns import observed_type
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.record import Row
from whorl.schema import UNKNOWN, Schema

Paths = Iterable[tuple[tuple[str | int, ...], str]]
Scalar = bool | int | float | str


def _same(row: Row) -> Row:
    return row


class Forward(OperatorType):
    type = "forward"
    summary = "Passes every row on as it is."
    looks_inside = False

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.PASS, _same)


class Union(OperatorType):
    type = "union"
    summary = "Brings several inputs together; rows pass as they are, in the order they come."
    looks_inside = False

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.PASS, _same)


class AddOptions(Options):
    value: int | float = Field(1, description="the number to add")
    column: str = Field("value", description="the column that holds the number")


class Add(OperatorType):
    type = "add"
    summary = "Adds a constant to a number. Whole numbers stay whole, text stays text: '41' gives '42'."
    Options = AddOptions

    def step(self, schema: Schema | None) -> Step:
        column, amount = self.options.column, self.options.value

        def add(row: Row) -> Row:
            return {**row, column: _sum(row.get(column), amount, column)}

        return Step(Shape.MAP, add)

    def columns(self) -> Paths:
        return [(("column",), self.options.column)]


def _sum(value: Any, amount: int | float, column: str) -> Any:
    kind = value.__class__
    if kind is int or kind is float:
        return value + amount
    if kind is str:
        return str(_number(value, column) + amount)
    if isinstance(value, Decimal):
        return value + Decimal(str(amount))
    raise ValueError(f"column '{column}' holds {value!r}, which is not a number")


def _number(text: str, column: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"column '{column}' holds {text!r}, which is not a number")


class DropOptions(Options):
    columns: tuple[str, ...] = Field(min_length=1, description="the columns to leave out")


class Drop(OperatorType):
    type = "drop"
    summary = "Leaves columns out."
    Options = DropOptions

    def step(self, schema: Schema | None) -> Step:
        names = self.options.columns

        def drop(row: Row) -> Row:
            rest = row.copy()
            for name in names:
                rest.pop(name, None)
            return rest

        return Step(Shape.MAP, drop)

    def output(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        return Schema(tuple(column for column in schema if column[0] not in self.options.columns))

    def columns(self) -> Paths:
        return [(("columns", index), name) for index, name in enumerate(self.options.columns)]


class RenameOptions(Options):
    columns: dict[str, str] = Field(min_length=1, description="old name to new name")

    @model_validator(mode="after")
    def _distinct(self) -> RenameOptions:
        if len(set(self.columns.values())) < len(self.columns):
            raise ValueError("two columns get the same new name")
        return self


class Rename(OperatorType):
    type = "rename"
    summary = "Gives columns other names; their order stays."
    Options = RenameOptions

    def step(self, schema: Schema | None) -> Step:
        names = self.options.columns
        clash = set(names.values()) & (set(schema.names if schema else ()) - set(names))
        if clash:
            raise PipelineError(
                f"there is a column '{min(clash)}' already",
                code="column",
                hint="choose another new name, or drop it first",
            )
        renamed = names.get
        return Step(Shape.MAP, lambda row: {renamed(name, name): value for name, value in row.items()})

    def output(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        return Schema(tuple((self.options.columns.get(name, name), kind) for name, kind in schema))

    def columns(self) -> Paths:
        return [(("columns", name), name) for name in self.options.columns]


class FillOptions(Options):
    columns: dict[str, Scalar] | None = Field(None, description="column to the value that replaces its nulls")
    value: Scalar | None = Field(None, description="replaces nulls in every column whose type it fits")

    @model_validator(mode="after")
    def _one_of_both(self) -> FillOptions:
        if (self.columns is None) == (self.value is None):
            raise ValueError("give either 'columns' or 'value'")
        return self


class Fill(OperatorType):
    type = "fill"
    summary = "Replaces nulls by a value."
    Options = FillOptions

    def step(self, schema: Schema | None) -> Step:
        if self.options.columns is None and schema is None:
            return Step(Shape.MAP, _fill_any(self.options.value))
        return Step(Shape.MAP, _fill(self._values(schema)))

    def output(self, schema: Schema | None) -> Schema | None:
        return schema

    def columns(self) -> Paths:
        return [(("columns", name), name) for name in self.options.columns or ()]

    def _values(self, schema: Schema | None) -> dict[str, Any]:
        if self.options.columns is None:
            value = self.options.value
            return {name: _as(value, kind) for name, kind in schema or () if _fits(value, kind)}
        given: Mapping[str, Scalar] = self.options.columns
        for name, value in given.items():
            kind = schema.type_of(name) if schema else UNKNOWN
            if kind != UNKNOWN and conversion(observed_type(value), kind) is None:
                raise PipelineError(f"{value!r} cannot fill column '{name}' of type {kind}", code="type")
        return {name: _as(value, schema.type_of(name) if schema else UNKNOWN) for name, value in given.items()}


def _fits(value: Scalar, kind: str) -> bool:
    """Strings fit strings, booleans booleans, numbers every number: as Spark fills."""
    if kind == UNKNOWN:
        return True
    number = not isinstance(value, bool | str)
    return kind.startswith(("int", "long", "float", "double", "decimal")) if number else kind == observed_type(value)


def _as(value: Scalar, kind: str) -> Any:
    convert = None if kind == UNKNOWN else conversion(observed_type(value), kind)
    return value if convert is None else convert(value)


def _fill(values: dict[str, Any]) -> Callable[[Row], Row]:
    items = tuple(values.items())

    def fill(row: Row) -> Row:
        missing = [item for item in items if row.get(item[0]) is None]
        return {**row, **dict(missing)} if missing else row

    return fill


def _fill_any(value: Any) -> Callable[[Row], Row]:
    return lambda row: {name: value if each is None else each for name, each in row.items()}
