"""A Kafka cluster in memory: topics, consumer-group offsets and transactions, without threads, sockets or sleep.

What a real broker does in the background happens here at the next call: a transaction past its timeout is aborted when
anybody looks. Time is the given clock's alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException, TopicPartition

from whorl.testing.memory.coordinator import Coordinator, Owner, Place, Position
from whorl.testing.memory.log import Entry, PartitionLog

BATCH_OVERHEAD = 61 + 9


@dataclass(frozen=True)
class Topic:
    name: str
    logs: list[PartitionLog]
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def timestamp_type(self) -> int:
        appended = self.config.get("message.timestamp.type") == "LogAppendTime"
        return int(TIMESTAMP_LOG_APPEND_TIME if appended else TIMESTAMP_CREATE_TIME)

    @property
    def max_bytes(self) -> int:
        return int(self.config.get("max.message.bytes", 1_048_588))


class MemoryBroker:
    """`idle` runs with the timeout whenever a consumer finds nothing to read: the place to move a hand-set clock."""

    def __init__(
        self, clock: Callable[[], float] = time.time, idle: Callable[[float], None] = lambda timeout: None
    ) -> None:
        self.clock = clock
        self.idle = idle
        self._topics: dict[str, Topic] = {}
        self._transactions = Coordinator(clock)
        self._lock = RLock()

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        if name in self._topics:
            raise KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists."))
        self._topics[name] = Topic(name, [PartitionLog(name, p) for p in range(partitions)], dict(config or {}))

    def add_partitions(self, name: str, total: int) -> None:
        logs = self._topics[name].logs
        logs.extend(PartitionLog(name, p) for p in range(len(logs), total))

    def delete_topic(self, name: str) -> None:
        del self._topics[name]

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._topics[topic].logs[partition].trim(before)

    def topics(self) -> dict[str, Topic]:
        return dict(self._topics)

    def records(self, topic: str, committed: bool = True) -> list[Entry]:
        """All records by partition and offset: those that a reader of committed data sees, or every one."""
        with self._lock:
            self._transactions.expire()
            return [entry for log in self._topics[topic].logs for entry in log.visible(log.start, committed)]

    def offsets(self, group: str) -> dict[Place, int]:
        """What the group has committed."""
        with self._lock:
            return {place: position.offset for place, position in self._transactions.offsets(group).items()}

    def open_transactions(self) -> list[str]:
        """Transactional ids with a transaction that is neither committed nor aborted."""
        with self._lock:
            return self._transactions.open_transactions()

    # What clients ask.

    def log(self, topic: str, partition: int) -> PartitionLog | None:
        with self._lock:
            self._transactions.expire()
        found = self._topics.get(topic)
        return found.logs[partition] if found and 0 <= partition < len(found.logs) else None

    def append(self, entry: Entry, owner: Owner | None = None) -> Entry:
        """Write a record, inside the owner's transaction if there is one, and give it back as it was written."""
        with self._lock:
            log = self._existing(entry.topic, entry.partition)
            topic = self._topics[entry.topic]
            if owner:
                self._transactions.join(owner, log)
            if size_of(entry) + BATCH_OVERHEAD > topic.max_bytes:
                raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
            if topic.timestamp_type == TIMESTAMP_LOG_APPEND_TIME:
                entry = replace(entry, timestamp=self.now())
            written = replace(
                entry, timestamp_type=topic.timestamp_type, producer_id=owner.producer_id if owner else -1
            )
            return replace(written, offset=log.append(written))

    def join(self, owner: Owner, topic: str, partition: int) -> None:
        """Make a partition part of the owner's transaction, which ends with a marker in it."""
        with self._lock:
            self._transactions.join(owner, self._existing(topic, partition))

    def now(self) -> int:
        """Milliseconds since 1970."""
        return round(self.clock() * 1000)

    def init_transactions(self, transactional_id: str, timeout: float) -> Owner:
        with self._lock:
            return self._transactions.init(transactional_id, timeout)

    def end_transaction(self, owner: Owner, commit: bool) -> None:
        with self._lock:
            self._transactions.end(owner, commit)

    def fence(self, owner: Owner) -> None:
        with self._lock:
            self._transactions.fence(owner)

    def add_offsets(self, owner: Owner, group: str, offsets: Iterable[TopicPartition]) -> None:
        with self._lock:
            self._transactions.add_offsets(owner, group, _positions(offsets))

    def commit_offsets(self, group: str, offsets: Iterable[TopicPartition]) -> None:
        with self._lock:
            self._transactions.commit_offsets(group, _positions(offsets))

    def committed(self, group: str, place: Place) -> Position | None:
        with self._lock:
            return self._transactions.offsets(group).get(place)

    def unstable(self, group: str, places: Iterable[Place]) -> bool:
        with self._lock:
            return self._transactions.unstable(group, places)

    def _existing(self, topic: str, partition: int) -> PartitionLog:
        log = self.log(topic, partition)
        if log is None:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        return log


def size_of(entry: Entry) -> int:
    """Bytes of key, value and headers."""
    headers = sum(len(name) + len(value or b"") + 2 for name, value in entry.headers)
    return len(entry.key or b"") + len(entry.value or b"") + headers


def _positions(offsets: Iterable[TopicPartition]) -> dict[Place, Position]:
    return {(tp.topic, tp.partition): Position(tp.offset, tp.metadata or "") for tp in offsets}
