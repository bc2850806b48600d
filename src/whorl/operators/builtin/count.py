"""The count operator: how many records a key has had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whorl.operators.builtin.by_key import Leaving, Pairs, ResultByKey, ResultOptions
from whorl.operators.fold import Fold
from whorl.operators.fold_source import Column, Inlined
from whorl.operators.keyed import KeyedOperator
from whorl.operators.record import Row
from whorl.schema import Schema
from whorl.state.states import ValueState


class RunningCount(Fold):
    count = ValueState(int)
    kept = "count"
    fresh = True

    def __init__(self, shaped: Callable[..., Row], leaving: Leaving) -> None:
        self._shaped, self._leaving = shaped, leaving

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        count = (before or 0) + 1
        return count, self._shaped(record, count)

    def inlined(self, column: Column) -> Inlined:
        return Inlined(("count = (held or 0) + 1",), "count", self._leaving(column, "count"))


class Count(ResultByKey):
    type = "count"
    summary = "The running number of records of each key: a row for each record."
    Options = ResultOptions

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        return RunningCount(self.shaped(schema), self.leaving(schema))

    def results(self, schema: Schema | None) -> Pairs:
        return self.result(schema, "long")
