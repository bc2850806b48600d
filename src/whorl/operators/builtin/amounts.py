"""Numbers in rows and in text, and sums of them that are exact: whole numbers stay whole, decimals decimal."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from whorl.formats.conversions import EXACT
from whorl.operators.expressions.types import MAX_PRECISION, decimal_type, is_decimal, is_numeric, precision_scale
from whorl.operators.record import Row
from whorl.schema import UNKNOWN

_SUMS = {"int": "long", "long": "long", "float": "double", "double": "double"}
_DIGITS = 10
"""That a sum of decimals has more than each of them, as in Spark."""
_PASS = frozenset({int, float, Decimal, type(None)})


def may_be_number(kind: str) -> bool:
    """Of a column's type."""
    return kind == UNKNOWN or is_numeric(kind)


def number(digits: str, column: str) -> int | float:
    """Of text."""
    for kind in (int, float):
        try:
            return kind(digits)
        except ValueError:
            continue
    raise ValueError(no_number(digits, column))


def no_number(value: Any, column: str) -> str:
    return f"column '{column}' holds {value!r}, which is not a number"


def number_reader(column: str, text: bool) -> Callable[[Row], Any]:
    """From a row to the number in a column, or None; `text`: it is written in digits."""

    def read(row: Row) -> Any:
        value = row.get(column)
        if value.__class__ in _PASS:
            return value
        if text and value.__class__ is str:
            return number(value, column)
        raise ValueError(no_number(value, column))

    return read


class Numbers:
    """The numbers in a column: read from a row, or by source."""

    def __init__(self, column: str, text: bool) -> None:
        self._column, self._text = column, text
        self.read = number_reader(column, text)

    def lines(self, column: Callable[[str], str]) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Statements after which `number` is it, and what they need."""
        value, general = column(self._column), f"number = read({{{self._column!r}: value}})"
        if not self._text:
            return (f"value = {value}", general), {"read": self.read}
        quick = ("try:", "    number = int(value)", "except (TypeError, ValueError):", f"    {general}")
        return (f"value = {value}", *quick), {"read": self.read}


def plus(total: Any, value: Any) -> Any:
    """Null counts for nothing."""
    if total is None or value is None:
        return value if total is None else total
    if total.__class__ is not Decimal and value.__class__ is not Decimal:
        return total + value
    try:
        return EXACT.add(total, value)
    except TypeError:
        raise ValueError(f"{value!r} cannot be added to {total!r}: one is a decimal, the other a double") from None


def sum_type(kind: str) -> str:
    """Of the sum of values of this type."""
    if not is_decimal(kind):
        return _SUMS.get(kind, UNKNOWN)
    precision, scale = precision_scale(kind)
    return decimal_type(min(precision + _DIGITS, MAX_PRECISION), scale)
