"""The min and max operators: the least and the greatest value that a key has had."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from whorl.operators.builtin.amounts import may_be_number, number_reader
from whorl.operators.builtin.by_key import OfColumn, OfOptions, Pairs, Reading
from whorl.operators.fold import Fold
from whorl.operators.keyed import KeyedOperator
from whorl.operators.record import Row
from whorl.schema import TEXT, Schema
from whorl.state.states import ValueState


def least(one: Any, other: Any) -> Any:
    """Of two values; null counts for nothing, and NaN is greater than any number, as in Spark."""
    if one is None or other is None:
        return other if one is None else one
    return other if _less(other, one) or one != one else one


def greatest(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return other if _less(one, other) or other != other else one


def _less(one: Any, other: Any) -> bool:
    try:
        return bool(one < other)
    except TypeError:
        raise ValueError(f"{one!r} and {other!r} cannot be compared") from None


def is_ordered(kind: str) -> bool:
    """Whether values of this type have a least and a greatest; those of unknown type may."""
    return may_be_number(kind) or kind in ("string", "date", "timestamp")


class RunningExtreme(Reading, Fold):
    value: ValueState[Any] = ValueState(object)
    kept = "value"

    def __init__(
        self, read: Callable[[Row], Any], shaped: Callable[..., Row], choose: Callable[[Any, Any], Any]
    ) -> None:
        super().__init__(read, shaped)
        self._choose = choose

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        value = self._choose(before, self._read(record))
        return value, self._shaped(record, value)


class Extreme(OfColumn):
    Options = OfOptions
    fitting = "numbers, text, dates or timestamps"

    @staticmethod
    @abstractmethod
    def choose(one: Any, other: Any) -> Any: ...

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        read = number_reader(self.of, text=True) if schema == TEXT else lambda row: row.get(self.of)
        return RunningExtreme(read, self.shaped(schema), self.choose)

    def results(self, schema: Schema | None) -> Pairs:
        return self.result(schema, self.kind(schema))

    def fits(self, kind: str) -> bool:
        return is_ordered(kind)


class Min(Extreme):
    type = "min"
    summary = (
        "The least value of a column so far for each key: a row for each record. Nulls count for nothing; text rows hold numbers, and "
        "one that holds none fails."
    )
    choose = staticmethod(least)


class Max(Extreme):
    type = "max"
    summary = (
        "The greatest value of a column so far for each key: a row for each record. Nulls count for nothing; text rows hold numbers, "
        "and one that holds none fails."
    )
    choose = staticmethod(greatest)
