"""JSON values and CSV cells to declared types. Each converter is made once for its type; it never sees null."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

import whorl.formats.conversions as to
from whorl.schema import UNKNOWN, split_top

Convert = Callable[[Any], Any]


class Mismatch(ValueError):
    """A value that does not fit its declared type."""

    def __init__(self, value: Any, type: str) -> None:
        text = repr(value)
        super().__init__(f"{text if len(text) <= 80 else text[:77] + '...'} is not a {type}")


def timestamp(value: Any) -> datetime:
    """ISO text, or seconds since 1970."""
    if value.__class__ is str:
        return _iso(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return to.from_seconds(value)
    raise Mismatch(value, "timestamp")


def _iso(text: str) -> datetime:
    if len(text) >= 19 and text[4] == "-" and text[10] in "T ":
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return to.to_timestamp(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return to.to_timestamp(text)


def _string(value: Any) -> str:
    # As Spark reads JSON: what is not a string is kept as its JSON text.
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _integer(type: str) -> Convert:
    limit = to.LIMITS[type]

    def convert(value: Any) -> int:
        if value.__class__ is int and -limit - 1 <= value <= limit:
            return int(value)
        raise Mismatch(value, type)

    return convert


def _double(value: Any) -> float:
    if value.__class__ is float or value.__class__ is int:
        return float(value)
    if value.__class__ is str and value.lstrip("+-") in ("NaN", "Infinity", "INF"):
        return float(value)
    raise Mismatch(value, "double")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise Mismatch(value, "boolean")


def _date(value: Any) -> Any:
    if isinstance(value, str):
        return to.to_date(value)
    raise Mismatch(value, "date")


def _binary(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise Mismatch(value, "binary in base64") from None


def _decimal(type: str) -> Convert:
    precision, _, scale = type[len("decimal(") : -1].partition(",")
    fit = to.fitted(int(precision), int(scale or 0))

    def convert(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise Mismatch(value, type)
        try:
            return fit(Decimal(value if isinstance(value, str) else repr(value)))
        except ArithmeticError:
            raise Mismatch(value, type) from None

    return convert


def _array(element: str) -> Convert:
    convert = converter(element)

    def each(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise Mismatch(value, f"array<{element}>")
        return value if convert is None else [None if item is None else convert(item) for item in value]

    return each


def _map(key: str, value: str) -> Convert:
    convert, convert_key = converter(value), _map_key(key)

    def each(given: Any) -> dict[Any, Any]:
        if not isinstance(given, dict):
            raise Mismatch(given, f"map<{key},{value}>")
        return {
            convert_key(name): item if item is None or convert is None else convert(item)
            for name, item in given.items()
        }

    return each


def _map_key(type: str) -> Convert:
    return to.to_integer(type) if type in to.LIMITS else cell_converter(type) or str


def _struct(fields: str) -> Convert:
    pairs = [part.partition(":") for part in split_top(fields)]
    converters = [(name, converter(kind)) for name, _, kind in pairs]

    def each(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Mismatch(value, "struct")
        row = {}
        for name, convert in converters:
            item = value.get(name)
            row[name] = item if item is None or convert is None else convert(item)
        return row

    return each


_SIMPLE: dict[str, Convert | None] = {
    UNKNOWN: None, "string": _string, "int": _integer("int"), "long": _integer("long"), "double": _double,
    "float": lambda value: to.single(_double(value)), "boolean": _boolean, "timestamp": timestamp, "date": _date, "binary": _binary,
}  # fmt: skip


@lru_cache(1024)
def converter(type: str) -> Convert | None:
    """From a JSON value; None where every value fits as it is."""
    if type in _SIMPLE:
        return _SIMPLE[type]
    if type.startswith("decimal"):
        return _decimal(type)
    outer, _, inner = type[:-1].partition("<")
    if outer == "array":
        return _array(inner)
    if outer == "map":
        key, value = split_top(inner)
        return _map(key, value)
    return _struct(inner)


_CELLS: dict[str, Convert | None] = {
    UNKNOWN: None, "string": None, "int": to.to_integer("int"), "long": to.to_integer("long"), "double": to.to_double,
    "float": lambda text: to.single(to.to_double(text)), "boolean": to.to_boolean, "timestamp": _iso, "date": to.to_date,
    "binary": _binary,
}  # fmt: skip


def cell_converter(type: str) -> Convert | None:
    """From text; nested types are JSON in the cell."""
    if type in _CELLS:
        return _CELLS[type]
    convert = converter(type)
    if type.startswith("decimal"):
        return convert
    return lambda text: convert(orjson.loads(text)) if convert else orjson.loads(text)
