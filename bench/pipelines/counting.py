"""The operator of the count benchmark in Python of one's own."""

from __future__ import annotations

from typing import Any

from whorl import Context, KeyedOperator, ValueState


class Counting(KeyedOperator):
    total = ValueState(list)

    def process(self, key: Any, record: dict[str, Any], context: Context) -> None:
        count, total = self.total.get() or (0, 0)
        count, total = count + 1, total + record["amount"]
        self.total.set([count, total])
        context.emit({"count": count, "sum": total})
