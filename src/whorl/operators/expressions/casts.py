"""Which conversion a cast takes. A pair of types that is not listed is one that Spark refuses, or that only Spark does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import whorl.formats.conversions as to
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.types import UNKNOWN, VOID, is_decimal, precision_scale
from whorl.operators.expressions.value import Emitter, Value, null

_UTF8: Callable[[str], bytes] = str.encode
_TEXT: Callable[[bytes], str] = bytes.decode
_LOWER_BOOLEAN = {True: "true", False: "false"}.__getitem__


def _same(value: Any) -> Any:
    return value


_CONVERSIONS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("int", "long"): _same,
    ("long", "int"): to.narrowed("int"),
    ("float", "double"): _same,
    ("double", "float"): to.single,
    ("string", "float"): lambda text: to.single(to.to_double(text)),
    ("string", "double"): to.to_double,
    ("string", "boolean"): to.to_boolean,
    ("string", "date"): to.to_date,
    ("string", "timestamp"): to.to_timestamp,
    ("string", "binary"): _UTF8,
    ("binary", "string"): _TEXT,
    ("boolean", "string"): _LOWER_BOOLEAN,
    ("float", "string"): to.single_text,
    ("double", "string"): to.double_text,
    ("decimal", "string"): to.decimal_text,
    ("date", "string"): date.isoformat,
    ("timestamp", "string"): to.timestamp_text,
    ("timestamp", "date"): to.timestamp_date,
    ("date", "timestamp"): to.date_timestamp,
    ("timestamp", "long"): to.timestamp_seconds,
    ("timestamp", "int"): lambda moment: to.narrowed("int")(to.timestamp_seconds(moment)),
    ("timestamp", "double"): to.timestamp_double,
    ("decimal", "float"): lambda number: to.single(float(number)),
    ("decimal", "double"): float,
    **{("string", whole): to.to_integer(whole) for whole in ("int", "long")},
    **{(whole, "string"): str for whole in ("int", "long")},
    **{(whole, "double"): float for whole in ("int", "long")},
    **{(whole, "float"): lambda number: to.single(float(number)) for whole in ("int", "long")},
    **{(real, whole): to.truncated(whole) for real in ("float", "double", "decimal") for whole in ("int", "long")},
    **{(number, "boolean"): bool for number in ("int", "long", "float", "double", "decimal")},
    **{("boolean", whole): int for whole in ("int", "long")},
    **{("boolean", real): float for real in ("float", "double")},
    **{(number, "timestamp"): to.from_seconds for number in ("int", "long", "float", "double", "decimal")},
}


def conversion(source: str, target: str) -> Callable[[Any], Any] | None:
    """The function that casts a value which is not null."""
    kind = "decimal" if is_decimal(source) else source
    if is_decimal(target):
        return to.decimal_from(*precision_scale(target)).get(kind)
    return _same if source == target else _CONVERSIONS.get((kind, target))


def cast(emitter: Emitter, value: Value, target: str, *, safe: bool = False) -> Value:
    """`safe`: null instead of an error."""
    if value.type == target:
        return value
    if value.type == VOID:
        return null(target)
    if UNKNOWN in (value.type, target):
        return Value(value.code, target)
    convert = conversion(value.type, target)
    if convert is None:
        raise ExpressionError(f"a {value.type} cannot be cast to {target}", code="unsupported")
    if convert is _same:
        return value.typed(target)
    if safe:
        return emitter.call(to.tolerant(convert), [value], target, nullable=True)
    return emitter.call(convert, [value], target)
