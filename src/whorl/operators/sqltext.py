"""Names and values as Spark SQL spells them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from whorl.operators.native import Project
from whorl.schema import Schema

_MICROSECONDS = 1_000_000
_LONG = 2**63


def quoted(name: str) -> str:
    """A column or table, whatever characters its name has."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def literal(value: bool | int | float | str) -> str | None:
    """As a boolean, long, double or string; None where a long does not hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"CAST({value} AS BIGINT)" if -_LONG <= value < _LONG else None
    if isinstance(value, str):
        return text(value)
    return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"


def interval(seconds: float) -> str:
    """A duration in Spark's words, exact to the microsecond."""
    microseconds = round(seconds * _MICROSECONDS)
    whole, rest = divmod(microseconds, _MICROSECONDS)
    return f"{microseconds} microseconds" if rest else f"{whole} seconds"


def kept(schema: Schema, made: Mapping[str, str]) -> dict[str, str]:
    """All columns, those that are made in the place of the old or behind them."""
    return {name: quoted(name) for name in schema.names} | dict(made)


def projection(columns: Mapping[str, str]) -> Project | None:
    """None where Spark could not tell two columns apart, or none are left."""
    return Project(tuple(columns.items())) if columns and told_apart(columns) else None


def told_apart(names: Iterable[str]) -> bool:
    """Spark takes no notice of upper and lower case."""
    listed = list(names)
    return len({name.lower() for name in listed}) == len(listed)
