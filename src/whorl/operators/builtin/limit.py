"""The limit operator: the first rows of each key."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from whorl.operators.builtin.by_key import ByKey, LastingOptions
from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.record import Row
from whorl.schema import Schema
from whorl.state.states import ValueState


class FirstRows(KeyedOperator):
    passed = ValueState(int)

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def process(self, key: Any, record: Row, context: Context) -> None:
        passed = self.passed.get() or 0
        if passed < self._rows:
            self.passed.set(passed + 1)
            context.emit(record)


class LimitOptions(LastingOptions):
    rows: int = Field(ge=1, description="how many of each key pass")


class Limit(ByKey):
    type = "limit"
    summary = (
        "Passes the first rows of each key and leaves out those behind them, for ever or until `ttl` is over. For so many of all rows "
        "together, give them one key before: `{type: key_by, key: \"'all'\"}`."
    )
    Options = LimitOptions

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        return FirstRows(self.options.rows)
