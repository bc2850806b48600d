"""Sends each record round a loop, to another key each time, and counts what a key has seen."""

from __future__ import annotations

from typing import Any

from whorl import Context, KeyedOperator, ValueState


class Circling(KeyedOperator):
    seen = ValueState(int)

    def process(self, key: Any, record: dict[str, Any], context: Context) -> None:
        self.seen.update(lambda before: (before or 0) + 1)
        row = {"k": record["k"], "n": record["n"], "place": record["place"] + 1, "left": record["left"] - 1}
        context.emit(row, to="again" if record["left"] else "done")
