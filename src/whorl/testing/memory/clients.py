"""The factory that the task loop takes: all clients of one process, on one broker, with one set of faults."""

from __future__ import annotations

from typing import Any

from whorl.kafka.clients import LARGEST_OF_ANY
from whorl.testing.memory.broker import MemoryBroker
from whorl.testing.memory.consumer import MemoryConsumer
from whorl.testing.memory.faults import Faults
from whorl.testing.memory.producer import MemoryProducer

READING = {
    "group.id": "whorl.reader",
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
}
WRITING = {
    "partitioner": "murmur2_random",
    "delivery.report.only.error": True,
    "message.max.bytes": LARGEST_OF_ANY,
}


class MemoryClients:
    """Its defaults are those of `whorl.kafka.clients.KafkaClients` that change what a client sees."""

    def __init__(self, broker: MemoryBroker, faults: Faults | None = None) -> None:
        self.broker = broker
        self.faults = faults or Faults()

    def consumer(self, **config: Any) -> MemoryConsumer:
        return MemoryConsumer(self.broker, {**READING, **config}, self.faults)

    def transactional(self, transactional_id: str, **config: Any) -> MemoryProducer:
        """Not yet initialised: `init_transactions` comes first."""
        return self.producer(**{**config, "transactional.id": transactional_id})

    def producer(self, **config: Any) -> MemoryProducer:
        return MemoryProducer(self.broker, {**WRITING, **config}, self.faults)
