"""The sum operator: what the values of a key have added up to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from whorl.operators.builtin.amounts import Numbers, plus, sum_type
from whorl.operators.builtin.by_key import Leaving, OfColumn, OfOptions, Pairs, Reading
from whorl.operators.fold import Fold
from whorl.operators.fold_source import Column, Inlined
from whorl.operators.keyed import KeyedOperator
from whorl.operators.record import Row
from whorl.schema import TEXT, Schema
from whorl.state.states import ValueState


class Summing(Reading, Fold):
    def __init__(self, source: Numbers, shaped: Callable[..., Row], leaving: Leaving) -> None:
        super().__init__(source.read, shaped)
        self._source, self._leaving = source, leaving

    def _added(self, column: Column) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Statements that add a record's number to `total`."""
        lines, scope = self._source.lines(column)
        both = "total.__class__ is int is number.__class__"
        return (*lines, f"total = total + number if {both} else plus(total, number)"), {**scope, "plus": plus}


class RunningSum(Summing):
    sum: ValueState[Any] = ValueState(object)
    kept = "sum"
    fresh = True

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        total = plus(before, self._read(record))
        return total, self._shaped(record, total)

    def inlined(self, column: Column) -> Inlined:
        lines, scope = self._added(column)
        kept = "GONE if total is None else total"
        return Inlined(("total = held", *lines), kept, self._leaving(column, "total"), scope)


class RunningSumAndCount(Summing):
    sum_and_count = ValueState(list)
    kept = "sum_and_count"
    fresh = True

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        total, count = before or (None, 0)
        total, count = plus(total, self._read(record)), count + 1
        return [total, count], self._shaped(record, total, count)

    def inlined(self, column: Column) -> Inlined:
        lines, scope = self._added(column)
        begin = "total, count = held or (None, 0)"
        columns = self._leaving(column, "total", "count")
        return Inlined((begin, *lines, "count += 1"), "[total, count]", columns, scope)


class SumOptions(OfOptions):
    count: str = Field("", description="another column: the running number of records; left out: there is none")


class Sum(OfColumn):
    type = "sum"
    summary = (
        "The running sum of a column for each key: a row for each record. Nulls count for nothing; whole numbers and decimals "
        "are added up exactly; of text, a value that is no number fails the record."
    )
    Options = SumOptions

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        kind = RunningSumAndCount if self.options.count else RunningSum
        return kind(Numbers(self.of, schema == TEXT), self.shaped(schema), self.leaving(schema))

    def results(self, schema: Schema | None) -> Pairs:
        total = self.result(schema, sum_type(self.kind(schema)))
        return (*total, (self.options.count, "long")) if self.options.count else total
