"""Values as the text that Python writes for them, so that both hosts write the same bytes."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as t

_WHOLE_PART = "decimal(38,22)"
"""Holds every double from 1e-5 to 1e16 with all its digits."""


def python_double(number: Column) -> Column:
    """As `repr` writes it."""
    digits = F.abs(_exponent(number)).cast("string")
    padded = F.when(F.length(digits) < 2, F.concat(F.lit("0"), digits)).otherwise(digits)
    special = F.when(F.isnan(number), "nan").when(number > 0, "inf").otherwise("-inf")
    return _double(number, 1e-4, F.concat(_mantissa(number), _sign(number), padded), special)


def orjson_double(number: Column) -> Column:
    digits = F.abs(_exponent(number)).cast("string")
    return _double(number, 1e-5, F.concat(_mantissa(number), _sign(number), digits), F.lit("null"))


def _double(number: Column, least: float, scientific: Column, special: Column) -> Column:
    java, size = number.cast("string"), F.abs(number)
    plain = (size >= least) & (size < 1e16)
    return (
        F.when(F.isnan(number) | (size == float("inf")), special)
        .when(~F.contains(java, F.lit("E")), java)
        .when(plain, _positional(java))
        .otherwise(scientific)
    )


def _positional(java: Column) -> Column:
    digits = F.regexp_replace(java.cast(_WHOLE_PART).cast("string"), "0+$", "")
    return F.when(F.endswith(digits, F.lit(".")), F.concat(digits, F.lit("0"))).otherwise(digits)


def _mantissa(number: Column) -> Column:
    return F.regexp_replace(F.substring_index(number.cast("string"), "E", 1), "\\.0$", "")


def _sign(number: Column) -> Column:
    return F.when(_exponent(number) < 0, "e-").otherwise("e+")


def _exponent(number: Column) -> Column:
    return F.substring_index(number.cast("string"), "E", -1).try_cast("int")


def iso(moment: Column, between: str = "T") -> Column:
    """As `isoformat` of a time in UTC writes it."""
    seconds = F.date_format(moment, f"yyyy-MM-dd'{between}'HH:mm:ss")
    fraction = F.when(F.unix_micros(moment) % 1_000_000 != 0, F.date_format(moment, ".SSSSSS")).otherwise("")
    return F.concat(seconds, fraction, F.lit("+00:00"))


def sink_text(value: Column, kind: t.DataType) -> Column:
    """As the key of a sink's record, by `whorl.sinks.kafka.key_bytes`."""
    if isinstance(kind, t.TimestampType):
        return iso(value, " ")
    return python_double(value.cast("double")) if _is_real(kind) else value.cast("string")


def step_text(value: Column, kind: t.DataType) -> Column:
    """As a key that a step gives, by `key_bytes` of `whorl.operators`."""
    if isinstance(kind, t.TimestampType):
        return iso(value)
    return value.cast("double").cast("string") if _is_real(kind) else value.cast("string")


def json_text(value: Column, kind: t.DataType) -> Column:
    """As a part of a JSON array, by orjson."""
    if _is_real(kind):
        text = orjson_double(value.cast("double"))
    elif isinstance(kind, t.BooleanType | t.IntegralType):
        text = value.cast("string")
    else:
        text = _json_string(iso(value) if isinstance(kind, t.TimestampType) else value.cast("string"))
    return F.coalesce(text, F.lit("null"))


def _json_string(text: Column) -> Column:
    whole = F.to_json(F.array(text))
    return F.substring(whole, F.lit(2), F.length(whole) - 2)


def key_of(values: list[tuple[Column, t.DataType]], *, of_step: bool) -> Column:
    """One value as text, several as a JSON array. Of a sink, several of which one is null are no key."""
    if len(values) == 1:
        value, kind = values[0]
        if isinstance(kind, t.BinaryType):
            return value
        return (step_text if of_step else sink_text)(value, kind).cast("binary")
    parts = F.concat_ws(",", *[json_text(value, kind) for value, kind in values])
    whole = F.concat(F.lit("["), parts, F.lit("]")).cast("binary")
    if of_step:
        return whole
    missing = [value.isNull() for value, _ in values]
    return F.when(~_any(missing), whole)


def _any(conditions: list[Column]) -> Column:
    first, *rest = conditions
    for each in rest:
        first = first | each
    return first


def _is_real(kind: t.DataType) -> bool:
    return isinstance(kind, t.DoubleType | t.FloatType)
