"""Spark's rules for types in ANSI mode: which type two others widen to, and what precision a decimal result has."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from whorl.formats.conversions import LIMITS as LIMITS
from whorl.schema import UNKNOWN as UNKNOWN
from whorl.schema import split_top

VOID = "void"
"""The type of a bare NULL."""

INTEGRAL = ("int", "long")
FLOATING = ("float", "double")
MAX_PRECISION = 38
LEAST_SCALE = 6
_AS_DECIMAL = {"int": (10, 0), "long": (20, 0)}


def is_decimal(type: str) -> bool:
    return type.startswith("decimal")


def is_numeric(type: str) -> bool:
    return type in INTEGRAL or type in FLOATING or is_decimal(type)


def is_nested(type: str) -> bool:
    return type.startswith(("array<", "map<", "struct<"))


@lru_cache(1024)
def precision_scale(type: str) -> tuple[int, int]:
    """Of a decimal, or of the decimal that holds every value of an integral type."""
    if type in _AS_DECIMAL:
        return _AS_DECIMAL[type]
    precision, _, scale = type[len("decimal(") : -1].partition(",")
    return int(precision), int(scale or 0)


def decimal_type(precision: int, scale: int) -> str:
    return f"decimal({precision},{scale})"


def bounded(precision: int, scale: int) -> str:
    """The type of an arithmetic result: what exceeds 38 digits is taken from the scale, down to 6."""
    if precision <= MAX_PRECISION:
        return decimal_type(precision, scale)
    whole = precision - scale
    return decimal_type(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, LEAST_SCALE)))


def element_type(array: str) -> str:
    return array[len("array<") : -1]


def map_types(type: str) -> tuple[str, str]:
    key, value = split_top(type[len("map<") : -1])
    return key, value


@lru_cache(1024)
def field_types(struct: str) -> dict[str, str]:
    inner = struct[len("struct<") : -1]
    pairs = (part.partition(":") for part in split_top(inner)) if inner else ()
    return {name: type for name, _, type in pairs}


def struct_type(fields: Iterable[tuple[str, str]]) -> str:
    return "struct<" + ",".join(f"{name}:{type}" for name, type in fields) + ">"


def common_numeric(left: str, right: str) -> str:
    if left == right:
        return left
    if is_decimal(left) or is_decimal(right):
        return "double" if left in FLOATING or right in FLOATING else _wider_decimal(left, right)
    return "long" if left in INTEGRAL and right in INTEGRAL else "double"


def _wider_decimal(left: str, right: str) -> str:
    (p1, s1), (p2, s2) = precision_scale(left), precision_scale(right)
    whole, scale = max(p1 - s1, p2 - s2), max(s1, s2)
    if whole + scale > MAX_PRECISION:
        scale = max(MAX_PRECISION - whole, min(scale, LEAST_SCALE))
    return decimal_type(min(whole + scale, MAX_PRECISION), scale)


def common_type(left: str, right: str, *, strings: bool = True) -> str | None:
    """What both become when they meet; None where Spark refuses. `strings`: a string gives way to the other type."""
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if UNKNOWN in (left, right):
        return UNKNOWN
    if is_numeric(left) and is_numeric(right):
        return common_numeric(left, right)
    if {left, right} == {"date", "timestamp"}:
        return "timestamp"
    if strings and "string" in (left, right):
        return _string_with(right if left == "string" else left)
    return None


def _string_with(other: str) -> str | None:
    if other in INTEGRAL:
        return "long"
    if is_numeric(other):
        return "double"
    return other if other in ("date", "timestamp", "boolean", "binary") else None


def common_of(types: Iterable[str], *, strings: bool = True) -> str | None:
    """The common type of many; strings go first, as in Spark, so that the order written does not matter."""
    ordered = sorted(types, key=lambda type: type != "string")

    wider: str | None = VOID
    for type in ordered:
        wider = None if wider is None else common_type(wider, type, strings=strings)
    return wider
