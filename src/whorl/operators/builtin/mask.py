"""The mask operator: columns whose values nobody behind it may read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator, Field

from whorl.operators.expressions import compile_row
from whorl.operators.native import Native
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.sqltext import kept, projection, quoted, text
from whorl.schema import Schema

_LAST = re.compile(r"last([1-9]\d?)$")
_WAYS = ("hash", "redact", "null")


def _way(value: object) -> object:
    if value is None:
        return "null"
    if isinstance(value, str) and value not in _WAYS and not _LAST.match(value):
        raise ValueError(
            f"'{value}' is no way to mask: write hash, redact, null, or last4 for the last four characters"
        )
    return value


class MaskOptions(Options):
    columns: dict[str, Annotated[str, BeforeValidator(_way)]] = Field(
        min_length=1,
        description="column to how: hash (SHA-256 of `salt` and the value's text, in hexadecimal), redact (`replacement` instead of it), "
        "null, or last4 (of its text only so many characters at the end, behind asterisks)",
    )
    salt: str = Field(
        "", description="of hash: stands before every value, so that nobody can try values; give it as ${SALT}"
    )
    replacement: str = Field("***", description="of redact")


class Mask(OperatorType):
    type = "mask"
    summary = (
        "Hashes, redacts or shortens columns; what was null stays null, and a masked column is text. Equal values have equal hashes, so that "
        "they can still be counted and joined."
    )
    Options = MaskOptions

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.MAP, compile_row(self._made(), schema, keep=True).function)

    def native(self, schema: Schema | None) -> Native | None:
        return projection(kept(schema, self._made())) if schema else None

    def output(self, schema: Schema | None) -> Schema | None:
        masked = dict.fromkeys(self.options.columns, "string")
        return Schema(tuple((dict(schema.columns) | masked).items())) if schema else None

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("columns", name), name) for name in self.options.columns]

    def _made(self) -> dict[str, str]:
        return {name: self._masked(quoted(name), way) for name, way in self.options.columns.items()}

    def _masked(self, column: str, way: str) -> str:
        value = f"CAST({column} AS STRING)"
        if way == "hash":
            return f"sha2(CAST(concat({text(self.options.salt)}, {value}) AS BINARY), 256)"
        if way == "redact":
            return f"CASE WHEN {column} IS NULL THEN CAST(NULL AS STRING) ELSE {text(self.options.replacement)} END"
        if way == "null":
            return "CAST(NULL AS STRING)"
        count = int(way.removeprefix("last"))
        shown = f"substring({value}, greatest(length({value}) - {count}, 0) + 1, {count})"
        return f"lpad({shown}, length({value}), '*')"
