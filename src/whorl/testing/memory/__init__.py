"""A Kafka in memory: calls, offsets, transactions and errors are those of the real client on a real broker;
crashes come on demand.

    broker = MemoryBroker()
    broker.create_topic("in", partitions=2)
    clients = MemoryClients(broker, Faults(crash_at=7))

Read in this order: log, coordinator, broker; then faults, messages, consumer, transaction, producer, clients.
"""

from whorl.testing.memory.broker import MemoryBroker
from whorl.testing.memory.clients import MemoryClients
from whorl.testing.memory.consumer import MemoryConsumer
from whorl.testing.memory.coordinator import Position
from whorl.testing.memory.faults import ABORTABLE, BROKER_DOWN, FENCED, QUEUE_FULL, TIMED_OUT, Crash, Failure, Faults
from whorl.testing.memory.log import Entry
from whorl.testing.memory.partitioner import murmur2
from whorl.testing.memory.producer import MemoryProducer

__all__ = [
    "ABORTABLE",
    "BROKER_DOWN",
    "FENCED",
    "QUEUE_FULL",
    "TIMED_OUT",
    "Crash",
    "Entry",
    "Failure",
    "Faults",
    "MemoryBroker",
    "MemoryClients",
    "MemoryConsumer",
    "MemoryProducer",
    "Position",
    "murmur2",
]
