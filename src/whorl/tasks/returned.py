"""A message that has not been to Kafka: an entry, as the record that its topic would give."""

from __future__ import annotations

from typing import Any

from whorl.sinks.kafka import Entry

IN_MEMORY = -1
"""The offset of what has none."""


class Returned:
    __slots__ = ("entry",)

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    def topic(self) -> str:
        return self.entry[0]

    def partition(self) -> int:
        return self.entry[3]

    def offset(self) -> int:
        return IN_MEMORY

    def key(self) -> bytes | None:
        return self.entry[2]

    def value(self) -> bytes | None:
        return self.entry[1]

    def headers(self) -> Any:
        return self.entry[7]

    def timestamp(self) -> tuple[int, int]:
        return 1, self.entry[6]
