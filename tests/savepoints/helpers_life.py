"""What a new life of a pipeline needs of Spark and of a cluster, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from confluent_kafka import TopicPartition

from whorl.kafka.topics import TopicWanted
from whorl.testing.memory import Faults, MemoryBroker, MemoryClients


class Partitions:
    """As much of an RDD as is needed."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = numbers

    def mapPartitions(self, work: Callable[[Iterable[int]], Iterator[Any]]) -> Partitions:
        self._rows = list(work(self._numbers))
        return self

    def collect(self) -> list[Any]:
        return self._rows


SESSION: Any = SimpleNamespace(
    sparkContext=SimpleNamespace(defaultParallelism=1, parallelize=lambda numbers, _: Partitions(numbers))
)


class Board:
    """A cluster in memory. Its calls are points to crash at, as those of clients are."""

    def __init__(self, broker: MemoryBroker, faults: Faults) -> None:
        self._broker, self._faults = broker, faults
        self.clients = MemoryClients(broker, faults)

    def partition_counts(self) -> dict[str, int]:
        self._faults.reach("admin.list")
        return {name: len(topic.logs) for name, topic in self._broker.topics().items()}

    def create(self, topics: list[TopicWanted], replication: int) -> None:
        for topic in topics:
            self._faults.reach("admin.create")
            self._broker.create_topic(topic.name, topic.partitions)

    def delete(self, topics: list[str]) -> None:
        for topic in topics:
            self._faults.reach("admin.delete")
            self._broker.delete_topic(topic)

    def latest(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        consumer = self.clients.consumer()
        return {place: consumer.get_watermark_offsets(TopicPartition(*place))[1] for place in places}

    def replication(self, wanted: int | None) -> int:
        return 1
