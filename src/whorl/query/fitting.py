"""Rows that Python made against the columns that were declared, before Spark takes them: there, one that does not fit ends the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_type

from whorl.operators.record import Row

MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)
_EXACT: dict[type[t.DataType], type] = {
    t.StringType: str, t.DoubleType: float, t.BooleanType: bool, t.BinaryType: bytes, t.TimestampType: datetime, t.DateType: date,
}  # fmt: skip
"""Values of these classes need no trial."""


class Fitting:
    def __init__(self, struct: t.StructType) -> None:
        self._columns = [
            (field.name, _EXACT.get(type(field.dataType)), to_arrow_type(field.dataType, timezone="UTC"))
            for field in struct
        ]

    def misfit(self, rows: Sequence[Row]) -> Exception | None:
        """Why one of them does not fit."""
        try:
            for row in rows:
                for name, exact, kind in self._columns:
                    value = row.get(name)
                    if value is not None and value.__class__ is not exact:
                        pa.scalar(value, type=kind)
        except MISFITS as error:
            return error
        return None


def plain_maps(struct: t.StructType) -> dict[str, Callable[[Any], Any]]:
    """By column, of those that hold maps, which Arrow gives as lists of pairs: how they become dicts."""
    found = {field.name: _plain(field.dataType) for field in struct}
    return {name: plain for name, plain in found.items() if plain is not None}


def _plain(kind: t.DataType) -> Callable[[Any], Any] | None:
    """None where there is nothing to do."""
    if isinstance(kind, t.MapType):
        inner = _plain(kind.valueType) or _same
        return lambda pairs: None if pairs is None else {key: inner(value) for key, value in pairs}
    if isinstance(kind, t.ArrayType):
        each = _plain(kind.elementType)
        return each and (lambda values: None if values is None else [each(value) for value in values])
    if isinstance(kind, t.StructType):
        maps = plain_maps(kind)
        return (
            (lambda row: None if row is None else row | {n: plain(row[n]) for n, plain in maps.items()})
            if maps
            else None
        )
    return None


def _same(value: Any) -> Any:
    return value
