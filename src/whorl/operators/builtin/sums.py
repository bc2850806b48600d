"""The sum operator: what the values of a key have added up to."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from whorl.operators.builtin.amounts import number_reader, plus, sum_type
from whorl.operators.builtin.by_key import OfColumn, OfOptions, Pairs, Reading
from whorl.operators.fold import Fold
from whorl.operators.keyed import KeyedOperator
from whorl.operators.record import Row
from whorl.schema import TEXT, Schema
from whorl.state.states import ValueState


class RunningSum(Reading, Fold):
    sum: ValueState[Any] = ValueState(object)
    kept = "sum"

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        total = plus(before, self._read(record))
        return total, self._shaped(record, total)


class RunningSumAndCount(Reading, Fold):
    sum_and_count = ValueState(list)
    kept = "sum_and_count"
    fresh = True

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        total, count = before or (None, 0)
        total, count = plus(total, self._read(record)), count + 1
        return [total, count], self._shaped(record, total, count)


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
        return kind(number_reader(self.of, schema == TEXT), self.shaped(schema))

    def results(self, schema: Schema | None) -> Pairs:
        total = self.result(schema, sum_type(self.kind(schema)))
        return (*total, (self.options.count, "long")) if self.options.count else total
