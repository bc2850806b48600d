"""STUB until the engine's own comes."""

from __future__ import annotations

from typing import Any

from whorl.operators.keyed import KeyedOperator
from whorl.operators.record import Row


class PartitionProgram(KeyedOperator):
    def restore(self, context: Any) -> None: ...

    def parse(self, row: Row, context: Any) -> Any:
        return row

    def process_many(self, records: list[Any], context: Any) -> None: ...

    def receive(self, messages: list[Row], context: Any) -> None: ...
