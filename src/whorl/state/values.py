"""What may be kept in state, and that it is nobody else's: a value that goes in or comes out shares nothing that could be changed.

Whatever passes `own` can be encoded, so a value that cannot is refused while its record is processed, not when the commit is under way.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from whorl.errors import PipelineError

PLAIN = frozenset({int, float, str, bytes, bool, type(None), date, Decimal})
"""Kept as they are. A datetime is not among them: it is turned to UTC first."""


class Timed(NamedTuple):
    """A value that ends: at `expires`, in ms of event time or of processing time."""

    value: Any
    expires: int
    event: bool


class Mark:
    """A value that no user can have."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


DEEPEST = 100
"""Levels of lists, dicts and tuples: well below what msgpack writes and reads."""
_BASES: tuple[type, ...] = (int, float, str, bytes, Decimal, dict, list, tuple)

ABSENT, GONE = Mark("ABSENT"), Mark("GONE")
"""Nothing is known of the key; the key was deleted."""


def own(value: Any, depth: int = 0) -> Any:
    """A copy, as deep as there is something to change; a naive datetime is taken to be UTC."""
    kind = value.__class__
    if kind in PLAIN:
        return value
    deeper = depth + 1
    if deeper > DEEPEST:
        raise PipelineError(f"a value of more than {DEEPEST} levels cannot be kept in state", code="state-value")
    if kind is dict:
        return {
            key if key.__class__ in PLAIN else own(key, deeper): each if each.__class__ in PLAIN else own(each, deeper)
            for key, each in value.items()
        }
    if kind is list:
        return [each if each.__class__ in PLAIN else own(each, deeper) for each in value]
    if kind is tuple:
        return tuple([own(each, deeper) for each in value])
    if kind is datetime:
        return _utc(value)
    return _by_base(value, deeper)


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _by_base(value: Any, depth: int) -> Any:
    """Of a kind derived from a known one: the known one."""
    if isinstance(value, Enum):
        return own(value.value, depth)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, datetime):
        return _utc(datetime.combine(value.date(), value.timetz()))
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    base = next((base for base in _BASES if isinstance(value, base)), None)
    if base is not None:
        return own(base(value), depth)
    raise PipelineError(
        f"a value of type '{type(value).__qualname__}' cannot be kept in state",
        hint="numbers, text, bytes, dates, lists, dicts and tuples of them can; so can a type that the state declares",
        code="state-value",
    )
