"""Console and list sinks: their rows go to an internal topic in the transaction, and the driver reads them back, committed, from there.

So they are exactly once and work on any cluster, where a task's own output is nobody's terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import TopicPartition

from whorl.formats import codec
from whorl.kafka.clients import Clients
from whorl.operators.record import Row
from whorl.plan.plan import Output

Place = tuple[str, int]


class ViewReader:
    """Rows of view topics from the given ends on."""

    def __init__(self, clients: Clients, outputs: list[Output], ends: Mapping[Place, int]) -> None:
        self._codecs = {output.topic: (output.id, codec(output.format, output.schema)) for output in outputs}
        self._at = dict(ends)
        self._consumer = clients.consumer()
        self._consumer.assign([TopicPartition(*place, end) for place, end in ends.items()])

    def read(self, timeout: float) -> dict[str, list[Row]]:
        """New rows by sink id."""
        rows: dict[str, list[Row]] = {}
        for message in self._messages(timeout):
            sink, format = self._codecs[message.topic()]
            rows.setdefault(sink, []).append(format.decode(message.value()) or {})
        return rows

    def has_reached(self, ends: Mapping[Place, int]) -> bool:
        return all(self._at[place] >= end for place, end in ends.items())

    def _messages(self, timeout: float) -> list[Any]:
        first = self._consumer.poll(timeout)
        messages = [first, *self._consumer.consume(10_000, 0)] if first is not None else []
        for message in messages:  # the end of a partition, an "error", counts too: it lies behind the markers
            self._at[(message.topic(), message.partition())] = message.offset() + (message.error() is None)
        return [message for message in messages if message.error() is None]

    def close(self) -> None:
        self._consumer.close()
