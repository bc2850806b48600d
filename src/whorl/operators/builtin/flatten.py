"""The flatten operator: fields of structs as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import Field

from whorl.operators.native import Native
from whorl.operators.operator import Columns, Fault, OperatorType, Options, Shape, Step
from whorl.operators.record import Row
from whorl.operators.sqltext import projection, quoted, told_apart
from whorl.schema import UNKNOWN, Schema, split_top

_STRUCT = "struct<"
Leaf = tuple[tuple[str, ...], str]
"""The way from a row to a value, and its type."""


class FlattenOptions(Options):
    columns: Columns = Field((), description="the columns to flatten; left out: every struct")
    separator: str = Field("_", description="between the names on the way: address_city")
    levels: int | None = Field(None, ge=1, description="how deep; left out: until no struct is left")


class Flatten(OperatorType):
    type = "flatten"
    summary = (
        "Makes columns of the fields of structs, in the place of the struct; where a struct is null, they are. Where columns are not "
        "declared, every map in a row is taken for a struct."
    )
    Options = FlattenOptions

    def step(self, schema: Schema | None) -> Step:
        if schema is None or UNKNOWN in (kind for _, kind in schema):
            return Step(Shape.MAP, self._flatten_any)
        leaves = [(path, self._name(path)) for path, _ in self._leaves(schema)]
        return Step(Shape.MAP, _picking(leaves))

    def native(self, schema: Schema | None) -> Native | None:
        if schema is None or not self._is_clear(schema):
            return None
        return projection({self._name(path): ".".join(map(quoted, path)) for path, _ in self._leaves(schema)})

    def output(self, schema: Schema | None) -> Schema | None:
        if schema is None or UNKNOWN in (kind for _, kind in schema):
            return None
        return Schema(tuple((self._name(path), kind) for path, kind in self._leaves(schema)))

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("columns", index), name) for index, name in enumerate(self.options.columns)]

    def faults(self) -> Iterator[Fault]:
        for schema in {each.schema for each in self.upstreams if each.schema is not None}:
            if UNKNOWN not in (kind for _, kind in schema) and not self._is_clear(schema):
                message = "two columns get the same name"
                yield Fault(("separator",), "column", message, "give another `separator`, or rename one before")
            for index, name in enumerate(self.options.columns):
                if name in schema and not schema.type_of(name).startswith((_STRUCT, UNKNOWN)):
                    message = f"the column '{name}' is a {schema.type_of(name)}, not a struct"
                    yield Fault(("columns", index), "type", message, "name a struct, or leave it out")

    def _is_clear(self, schema: Schema) -> bool:
        return told_apart(self._name(path) for path, _ in self._leaves(schema))

    def _name(self, path: tuple[str, ...]) -> str:
        separator: str = self.options.separator
        return separator.join(path)

    def _leaves(self, schema: Schema) -> Iterator[Leaf]:
        for name, kind in schema:
            yield from self._below((name,), kind) if self._is_meant(name) else [((name,), kind)]

    def _below(self, path: tuple[str, ...], kind: str) -> Iterator[Leaf]:
        levels = self.options.levels
        if not kind.startswith(_STRUCT) or (levels is not None and len(path) > levels):
            yield path, kind
            return
        for field in split_top(kind[len(_STRUCT) : -1]):
            name, _, inner = field.partition(":")
            yield from self._below((*path, name), inner)

    def _is_meant(self, name: str) -> bool:
        return not self.options.columns or name in self.options.columns

    def _flatten_any(self, row: Row) -> Row:
        made: Row = {}
        for name, value in row.items():
            made.update(self._any_below((name,), value) if self._is_meant(name) else {name: value})
        return made

    def _any_below(self, path: tuple[str, ...], value: Any) -> Row:
        levels = self.options.levels
        if not isinstance(value, dict) or (levels is not None and len(path) > levels):
            return {self._name(path): value}
        return {
            name: each for key, below in value.items() for name, each in self._any_below((*path, key), below).items()
        }


def _picking(leaves: list[tuple[tuple[str, ...], str]]) -> Callable[[Row], Row]:
    return lambda row: {name: _at(row, path) for path, name in leaves}


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = None if value is None else value.get(name)
    return value
