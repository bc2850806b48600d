"""The sum operator: what the values of a key have added up to."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from whorl.operators.builtin.amounts import number_reader, plus, sum_type
from whorl.operators.builtin.by_key import OfColumn, OfOptions, Pairs, Reading
from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.record import Row
from whorl.schema import TEXT, Schema
from whorl.state.states import ValueState


class RunningSum(Reading):
    sum: ValueState[Any] = ValueState(object)

    def process(self, key: Any, record: Row, context: Context) -> None:
        total = plus(self.sum.get(), self._read(record))
        if total is not None:
            self.sum.set(total)
        context.emit(self._shaped(record, total))


class RunningSumAndCount(Reading):
    sum_and_count = ValueState(list)

    def process(self, key: Any, record: Row, context: Context) -> None:
        total, count = self.sum_and_count.get() or (None, 0)
        total, count = plus(total, self._read(record)), count + 1
        self.sum_and_count.set([total, count])
        context.emit(self._shaped(record, total, count))


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
