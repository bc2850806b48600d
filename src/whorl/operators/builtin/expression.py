"""Operators made of SQL expressions: filter, map, select, cast, key_by.

What leaves (`output`) never raises: a column whose expression is wrong has no type there, and `check` reports the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field, field_validator

from whorl.formats.conversions import decimal_text, double_text
from whorl.operators.expressions import ExpressionError, compile_expression, compile_row
from whorl.operators.expressions.types import is_nested
from whorl.operators.native import Native, Rekey, Where
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.record import Row
from whorl.operators.sqltext import kept, projection, quoted
from whorl.schema import UNKNOWN, Schema, normal_type

Paths = Iterable[tuple[tuple[str | int, ...], str]]
_SQL_NAMES = {"long": "bigint"}


def expression_type(sql: str, schema: Schema | None) -> str:
    try:
        return compile_expression(sql, schema).type
    except ExpressionError:
        return UNKNOWN


class FilterOptions(Options):
    where: str = Field(description="SQL condition; rows for which it is true pass")


class Filter(OperatorType):
    type = "filter"
    summary = "Passes the rows for which a condition is true."
    Options = FilterOptions
    keeps_record = True

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.FILTER, condition(self.options.where, schema))

    def native(self, schema: Schema | None) -> Native | None:
        return Where(self.options.where)

    def expressions(self) -> Paths:
        return [(("where",), self.options.where)]


def condition(sql: str, schema: Schema | None) -> Callable[[Row], Any]:
    compiled = compile_expression(sql, schema)
    if compiled.type not in ("boolean", UNKNOWN):
        raise ExpressionError(
            f"'{sql}' is a {compiled.type}, not a condition", code="type", hint="compare it with something"
        )
    return compiled.function


class MapOptions(Options):
    columns: dict[str, str] = Field(min_length=1, description="column to the SQL expression that it becomes")


class Map(OperatorType):
    type = "map"
    summary = "Sets columns by expressions over the row as it came; all other columns stay."
    Options = MapOptions

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.MAP, compile_row(self.options.columns, schema, keep=True).function)

    def native(self, schema: Schema | None) -> Native | None:
        return projection(kept(schema, self.options.columns)) if schema else None

    def output(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        made = {name: expression_type(sql, schema) for name, sql in self.options.columns.items()}
        return Schema(tuple((dict(schema.columns) | made).items()))

    def expressions(self) -> Paths:
        return [(("columns", name), sql) for name, sql in self.options.columns.items()]


class SelectOptions(Options):
    columns: tuple[str, ...] | dict[str, str] = Field(
        min_length=1, description="names of the columns to keep, or column to the SQL expression that it becomes"
    )


class Select(OperatorType):
    type = "select"
    summary = "Exactly these columns, in this order; no others."
    Options = SelectOptions

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.MAP, compile_row(self._made(), schema, keep=False).function)

    def native(self, schema: Schema | None) -> Native | None:
        return projection(self._made()) if schema else None

    def output(self, schema: Schema | None) -> Schema | None:
        return Schema(tuple((name, expression_type(sql, schema)) for name, sql in self._made().items()))

    def expressions(self) -> Paths:
        given = self.options.columns
        return [(("columns", name), sql) for name, sql in given.items()] if isinstance(given, dict) else []

    def columns(self) -> Paths:
        given = self.options.columns
        return [] if isinstance(given, dict) else [(("columns", index), name) for index, name in enumerate(given)]

    def _made(self) -> dict[str, str]:
        given = self.options.columns
        return given if isinstance(given, dict) else {name: quoted(name) for name in given}


class CastOptions(Options):
    columns: dict[str, Annotated[str, AfterValidator(normal_type)]] = Field(
        min_length=1, description="column to its new type; a value that does not fit fails the record"
    )


class Cast(OperatorType):
    type = "cast"
    summary = "Converts columns to other types, as Spark's CAST does."
    Options = CastOptions

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.MAP, compile_row(self._made(), schema, keep=True).function)

    def native(self, schema: Schema | None) -> Native | None:
        return projection(kept(schema, self._made())) if schema else None

    def output(self, schema: Schema | None) -> Schema | None:
        return Schema(tuple((dict(schema.columns) | self.options.columns).items())) if schema else None

    def columns(self) -> Paths:
        return [(("columns", name), name) for name in self.options.columns]

    def _made(self) -> dict[str, str]:
        return {
            name: f"CAST({quoted(name)} AS {_SQL_NAMES.get(kind, kind)})" for name, kind in self.options.columns.items()
        }


class KeyByOptions(Options):
    key: str | tuple[str, ...] = Field(description="SQL expression, or a list of columns")

    @field_validator("key")
    @classmethod
    def _not_empty(cls, key: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not key:
            raise ValueError("the key is empty")
        return key


class KeyBy(OperatorType):
    type = "key_by"
    changes_key = True
    summary = (
        "Gives rows a new key: one value as text, several as a JSON array; a null key where the one value is null. "
        "Rows stay as they are."
    )
    Options = KeyByOptions

    def step(self, schema: Schema | None) -> Step:
        parts = [compile_expression(sql, schema).function for sql in self._parts()]
        return Step(Shape.KEY, _single(parts[0]) if len(parts) == 1 else _several(parts))

    def native(self, schema: Schema | None) -> Native | None:
        kinds = [expression_type(sql, schema) for sql in self._parts()]
        # The text of a nested value is JSON, whose numbers Spark spells another way.
        if any(is_nested(kind) for kind in kinds) or (len(kinds) > 1 and "binary" in kinds):
            return None
        return Rekey(self._parts())

    def expressions(self) -> Paths:
        return [(("key",), self.options.key)] if isinstance(self.options.key, str) else []

    def columns(self) -> Paths:
        key = self.options.key
        return [] if isinstance(key, str) else [(("key", index), name) for index, name in enumerate(key)]

    def _parts(self) -> tuple[str, ...]:
        key = self.options.key
        return (key,) if isinstance(key, str) else tuple(map(quoted, key))


def key_bytes(value: Any) -> bytes | None:
    """A value as the key of a record: its text in UTF-8."""
    if value.__class__ is str:
        return str.encode(value)
    if value is None or isinstance(value, bytes):
        return value
    return _key_text(value).encode()


def _key_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | dict):
        return orjson.dumps(value, default=_key_text).decode()
    raise TypeError(f"{value!r} cannot be a key")


def _single(value: Callable[[Row], Any]) -> Callable[[Row], bytes | None]:
    return lambda row: key_bytes(value(row))


def _several(values: list[Callable[[Row], Any]]) -> Callable[[Row], bytes]:
    return lambda row: orjson.dumps([value(row) for value in values], default=_key_text)
