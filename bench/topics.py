"""Topics of a benchmark: made, filled, watched and counted by clients that share nothing with Whorl's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bench.failures import FeederFailed, TooSlow

PARTITIONS = 4
LEADING_ANEW = (KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError._NOENT)
# A broker that is killed on purpose is no news.
QUIET = {"log_level": 0}
LOADING = {
    "acks": "1",
    "linger.ms": 20,
    "compression.type": "lz4",
    "batch.num.messages": 10_000,
    "batch.size": 1_000_000,
    "queue.buffering.max.messages": 1_000_000,
    "partitioner": "murmur2_random",
}


class Topics:
    """Topics of `partitions` partitions each."""

    def __init__(self, address: str, partitions: int = PARTITIONS) -> None:
        self.address = address
        self.partitions = partitions
        self.reconnect()

    def reconnect(self) -> None:
        """librdkafka's admin client stays with the leaders and epochs that it knew, also when they are new or changed."""
        self._admin = AdminClient({"bootstrap.servers": self.address, **QUIET})

    def create(self, *names: str, config: Mapping[str, str] | None = None) -> None:
        wanted = [NewTopic(name, self.partitions, 1, config=dict(config or {})) for name in names]
        for future in self._admin.create_topics(wanted).values():
            future.result(30)
        for name in names:
            self._await_leaders(name)

    def delete(self, *names: str) -> None:
        for future in self._admin.delete_topics(list(names)).values():
            future.result(30)

    def delete_of(self, run: str) -> None:
        """All topics that carry the name of a run: also those that the system made for itself."""
        self.delete(*(name for name in self._admin.list_topics(timeout=30).topics if run in name))

    def load(self, topic: str, records: Iterable[tuple[bytes, bytes]]) -> int:
        """Produces all records; the number of them, every one acknowledged."""
        producer = Producer({"bootstrap.servers": self.address, **QUIET, **LOADING})
        count = 0
        for key, value in records:
            while not _produced(producer, topic, key, value):
                producer.poll(0.1)
            count += 1
        if left := producer.flush(120):
            raise FeederFailed(f"{left} of {count} records could not be loaded into '{topic}'")
        return count

    def committed_end(self, topic: str) -> int:
        """Sum of the partitions' last stable offsets. Markers count too: good for rates, not for totals."""
        return sum(end for _, end in self.ends(topic))

    def ends(self, topic: str) -> list[tuple[int, int]]:
        """(partition, last stable offset). A broker that had to wait for its machine has led anew since it was asked last, or is about to."""
        return self._insist(topic, lambda error: error.code() in LEADING_ANEW)

    def _insist(self, topic: str, is_passing: Callable[[KafkaError], bool]) -> list[tuple[int, int]]:
        deadline = time.monotonic() + 30
        while True:
            try:
                return self._ends(topic)
            except KafkaException as error:
                if not is_passing(error.args[0]) or time.monotonic() > deadline:
                    raise
            time.sleep(0.1)
            self.reconnect()

    def _ends(self, topic: str) -> list[tuple[int, int]]:
        wanted = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in range(self.partitions)}
        answers = self._admin.list_offsets(wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=10)
        return [(partition.partition, future.result(10).offset) for partition, future in answers.items()]

    def _await_leaders(self, topic: str) -> None:
        """A topic just made has no leaders yet for a moment."""
        self._insist(topic, lambda error: True)

    def drop_before(self, topic: str, offsets: Iterable[tuple[int, int]]) -> None:
        wanted = [TopicPartition(topic, partition, offset) for partition, offset in offsets if offset > 0]
        for future in self._admin.delete_records(wanted).values() if wanted else ():
            future.result(30)

    def read(self, topic: str, timeout: float = 120) -> Iterator[Message]:
        """Every committed record from the first to the present end of each partition, in order within a partition."""
        consumer = _reader(self.address)
        waiting = set(range(self.partitions))
        consumer.assign([TopicPartition(topic, partition, 0) for partition in waiting])
        deadline = time.monotonic() + timeout
        try:
            while waiting:
                for message in consumer.consume(10_000, 0.2):
                    if (error := message.error()) is None:
                        yield message
                    elif error.code() == KafkaError._PARTITION_EOF:
                        waiting.discard(message.partition())
                    elif not error.retriable() and error.fatal():
                        raise KafkaException(error)
                if time.monotonic() > deadline:
                    raise TooSlow(f"the end of '{topic}' was not reached in {timeout:g} s")
        finally:
            consumer.close()

    def count(self, topic: str) -> int:
        return sum(1 for _ in self.read(topic))


def _reader(address: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            **QUIET,
            "group.id": "bench.reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )


def _produced(producer: Producer, topic: str, key: bytes, value: bytes) -> bool:
    try:
        producer.produce(topic, value, key)
    except BufferError:
        return False
    return True
