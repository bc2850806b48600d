"""Operators without expressions: forward, union, drop, rename, fill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import Field, model_validator

from whorl.errors import PipelineError
from whorl.operators.expressions.casts import conversion
from whorl.operators.expressions.columns import observed_type
from whorl.operators.native import Native, Pass
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.record import Row
from whorl.operators.sqltext import kept, literal, projection, quoted, told_apart
from whorl.schema import UNKNOWN, Schema

Paths = Iterable[tuple[tuple[str | int, ...], str]]
Scalar = bool | int | float | str


def _same(row: Row) -> Row:
    return row


class Forward(OperatorType):
    type = "forward"
    summary = "Passes every row on as it is."
    looks_inside = False
    keeps_record = True

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.PASS, _same)

    def native(self, schema: Schema | None) -> Native | None:
        return Pass()


class Union(OperatorType):
    type = "union"
    summary = "Brings several inputs together; rows pass as they are, in the order they come."
    looks_inside = False

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.PASS, _same)

    def native(self, schema: Schema | None) -> Native | None:
        return Pass()


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

    def native(self, schema: Schema | None) -> Native | None:
        left = self.output(schema)
        return projection(kept(left, {})) if left else None

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

    def native(self, schema: Schema | None) -> Native | None:
        renamed = [(self.options.columns.get(name, name), quoted(name)) for name in (schema.names if schema else ())]
        return projection(dict(renamed)) if told_apart(name for name, _ in renamed) else None

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

    def native(self, schema: Schema | None) -> Native | None:
        if schema is None:
            return None
        filled = {name: _filled(name, value, schema.type_of(name)) for name, value in self._given(schema).items()}
        known = {name: sql for name, sql in filled.items() if sql is not None}
        return projection(kept(schema, known)) if len(known) == len(filled) else None

    def columns(self) -> Paths:
        return [(("columns", name), name) for name in self.options.columns or ()]

    def _values(self, schema: Schema | None) -> dict[str, Any]:
        given = self._given(schema)
        return {name: _as(value, name, schema.type_of(name) if schema else UNKNOWN) for name, value in given.items()}

    def _given(self, schema: Schema | None) -> Mapping[str, Scalar]:
        if self.options.columns is None:
            return {name: self.options.value for name, kind in schema or () if _fits(self.options.value, kind)}
        given: Mapping[str, Scalar] = self.options.columns
        return given


def _filled(name: str, value: Scalar, kind: str) -> str | None:
    sql = literal(value)
    known = kind != UNKNOWN and conversion(observed_type(value), kind) is not None
    return f"coalesce({quoted(name)}, CAST({sql} AS {kind}))" if sql and known else None


def _fits(value: Scalar, kind: str) -> bool:
    """Strings fit strings, booleans booleans, numbers every number: as Spark fills."""
    if kind == UNKNOWN:
        return True
    number = not isinstance(value, bool | str)
    return kind.startswith(("int", "long", "float", "double", "decimal")) if number else kind == observed_type(value)


def _as(value: Scalar, name: str, kind: str) -> Any:
    if kind == UNKNOWN:
        return value
    convert = conversion(observed_type(value), kind)
    try:
        if convert is not None:
            return convert(value)
    except (ValueError, OverflowError):
        pass
    raise PipelineError(f"{value!r} cannot fill column '{name}' of type {kind}", code="type")


def _fill(values: dict[str, Any]) -> Callable[[Row], Row]:
    items = tuple(values.items())

    def fill(row: Row) -> Row:
        missing = [item for item in items if row.get(item[0]) is None]
        return {**row, **dict(missing)} if missing else row

    return fill


def _fill_any(value: Any) -> Callable[[Row], Row]:
    return lambda row: {name: value if each is None else each for name, each in row.items()}
