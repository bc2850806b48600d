"""A program that does nothing but send: what one crossing between two tasks takes."""

from __future__ import annotations

import time
from typing import Any

from whorl import PartitionProgram, Row, ValueState


class Hopping(PartitionProgram):
    left = ValueState(int)

    def process_many(self, records: list[Any], context: Any) -> None:
        for record in records:
            self._on(record["hops"], context)

    def receive(self, messages: list[Row], context: Any) -> None:
        for message in messages:
            self.left.view().put(b"", message["left"])
            if message["left"]:
                context.send((context.partition + 1) % context.partitions, {"left": message["left"] - 1})
            else:
                self._told(0, context)

    def _on(self, hops: int, context: Any) -> None:
        self._told(hops, context)
        context.send((context.partition + 1) % context.partitions, {"left": hops - 1})

    def _told(self, left: int, context: Any) -> None:
        context.emit({"left": left, "at": time.time()})
