"""Questions to a cluster and the few changes Whorl makes there, each one call for many topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from whorl.errors import Unavailable, WorldError
from whorl.kafka.clients import KafkaClients, made

Place = tuple[str, int]
"""A topic and a partition."""
T = TypeVar("T")
_TEN_MINUTES = str(10 * 60 * 1000)
LARGEST = {"max.message.bytes": str(8 << 20)}
"""Of all that Whorl makes for records of users: larger than those of most, since what is kept of many grows beyond each."""
INTERNAL = {"retention.ms": "-1", **LARGEST}
"""Of topics between components."""
COMPACTED = {
    **LARGEST,
    "cleanup.policy": "compact",
    "segment.bytes": str(64 << 20),
    "segment.ms": _TEN_MINUTES,
    "delete.retention.ms": _TEN_MINUTES,  # of transaction markers too, of which every commit leaves one
}
_TIMEOUT = 15.0
_PAUSE = 0.1
NO_LEADER = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
"""What a broker says of a partition for a while when it was just made, or when its leader changes."""
NO_COORDINATOR = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
"""What it says of a group for a while when the topic of groups was just made, or moves."""


@dataclass(frozen=True)
class TopicWanted:
    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


def by_topic(positions: Mapping[Place, int]) -> dict[str, dict[str, int]]:
    """Topic to partition to offset, as JSON has it."""
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in positions.items():
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


class Cluster:
    """A Kafka cluster seen from outside: metadata, offsets, topics."""

    def __init__(self, clients: KafkaClients) -> None:
        self.clients = clients
        self._connect()

    def _connect(self) -> None:
        common = {name: value for name, value in self.clients.common.items() if name != "allow.auto.create.topics"}
        self._admin = made(AdminClient, {**common, **self.clients.extra})

    def partition_counts(self) -> dict[str, int]:
        """Every topic's number of partitions."""
        metadata = self._call(lambda: self._admin.list_topics(timeout=_TIMEOUT))
        return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}

    def counts_of(self, topics: Iterable[str]) -> dict[str, int]:
        """As `partition_counts`, of these that are there; asked one by one, so that a cluster of many topics does not tell of all."""
        asked = [(name, self._call(lambda name=name: self._admin.list_topics(name, _TIMEOUT))) for name in topics]  # type: ignore[misc]
        return {name: len(told.topics[name].partitions) for name, told in asked if told.topics[name].error is None}

    def brokers(self) -> int:
        return len(self._call(lambda: self._admin.list_topics(timeout=_TIMEOUT)).brokers)

    def replication(self, wanted: int | None) -> int:
        """Of topics that are made here."""
        return wanted or min(3, self.brokers())

    def create(self, topics: Iterable[TopicWanted], replication: int) -> None:
        """Makes those that do not exist, and returns when they are seen; one that exists meanwhile is fine."""
        wanted = [NewTopic(t.name, t.partitions, replication, config=dict(t.config)) for t in topics]
        if not wanted:
            return
        for name, future in self._admin.create_topics(wanted, operation_timeout=_TIMEOUT).items():
            try:
                future.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise WorldError(
                        f"topic '{name}' cannot be created: {error.args[0].str()}",
                        hint="create it by hand, or check 'replication' and the broker's log",
                        code="topic-create",
                    ) from None

        self._await_seen({topic.topic for topic in wanted})

    def _await_seen(self, topics: set[str]) -> None:
        """A broker that is busy says that a topic was made before it answers questions about it."""
        until = time.monotonic() + _TIMEOUT
        while not topics <= set(self.partition_counts()) and time.monotonic() < until:
            time.sleep(_PAUSE)

    def delete(self, topics: Iterable[str]) -> None:
        for future in self._admin.delete_topics(list(topics), operation_timeout=_TIMEOUT).values():
            future.result()

    def delete_before(self, ends: Mapping[Place, int]) -> None:
        """Deletes records below these offsets; what cannot be done now is done the next time."""
        wanted = [TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()]
        for future in self._admin.delete_records(wanted).values() if wanted else ():
            with suppress(KafkaException):
                future.result()

    def earliest(self, places: Iterable[Place]) -> dict[Place, int]:
        return self._offsets(places, OffsetSpec.earliest())

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        """High watermarks: behind everything written, committed or not."""
        return self._offsets(places, OffsetSpec.latest())

    def stable(self, places: Iterable[Place]) -> dict[Place, int]:
        """Behind everything that is committed and can be read as such: where the first open transaction begins, else the end."""
        return self._offsets(places, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)

    def last_written(self, topics: Mapping[str, int]) -> dict[str, float | None]:
        """By topic, of so many partitions: the time of its newest record, in seconds since 1970; None where it has none."""
        spec = OffsetSpec.max_timestamp()
        asked = {TopicPartition(topic, p): spec for topic, count in topics.items() for p in range(count)}
        if not asked:
            return {}
        futures = self._admin.list_offsets(asked, request_timeout=_TIMEOUT)
        times = {(tp.topic, tp.partition): self._call(future.result).timestamp for tp, future in futures.items()}
        newest = {topic: max((times[topic, p] for p in range(count)), default=-1) for topic, count in topics.items()}
        return {topic: time / 1000 if time > 0 else None for topic, time in newest.items()}

    def at_time(self, places: Iterable[Place], milliseconds: int) -> dict[Place, int]:
        """First offset not older than that; the end where there is none."""
        places = list(places)
        found, ends = self._offsets(places, OffsetSpec.for_timestamp(milliseconds)), self.latest(places)
        return {place: offset if offset >= 0 else ends[place] for place, offset in found.items()}

    def _offsets(
        self, places: Iterable[Place], spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> dict[Place, int]:
        asked = {TopicPartition(topic, partition): spec for topic, partition in places}
        if not asked:
            return {}
        return self._call(lambda: self._ask_offsets(asked, isolation))

    def _ask_offsets(self, asked: dict[TopicPartition, OffsetSpec], isolation: IsolationLevel) -> dict[Place, int]:
        """The leader of a partition that was just made may not know yet that it is; and after a broker's restart this call goes on failing
        on an old connection's idea of the leader."""
        until, again = time.monotonic() + _TIMEOUT, False
        while True:
            futures = self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=_TIMEOUT)
            try:
                return {(tp.topic, tp.partition): future.result().offset for tp, future in futures.items()}
            except KafkaException as error:
                if again and (error.args[0].code() not in NO_LEADER or time.monotonic() > until):
                    raise
                time.sleep(_PAUSE)
                self._connect()
                again = True

    def committed(self, group: str, places: Iterable[Place]) -> dict[Place, int]:
        """The group's offsets as Kafka tools see them; asked by a consumer, since librdkafka's admin client crashes where the broker says that
        it does not keep this group, or not yet."""
        asked = [TopicPartition(*place) for place in places]
        if not asked:
            return {}
        # Of committed transactions alone it would wait for those that a killed process has left open.
        consumer = self.clients.consumer(**{"group.id": group, "isolation.level": "read_uncommitted"})
        try:
            answer = self._call(lambda: _ask_committed(consumer, asked))
        finally:
            consumer.close()
        return {(tp.topic, tp.partition): tp.offset for tp in answer if tp.offset >= 0}

    def topic_config(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        return self._config(ResourceType.TOPIC, topics)

    def broker_config(self) -> dict[str, str]:
        metadata = self._call(lambda: self._admin.list_topics(timeout=_TIMEOUT))
        return next(iter(self._config(ResourceType.BROKER, [str(min(metadata.brokers))]).values()), {})

    def _config(self, kind: ResourceType, names: Iterable[str]) -> dict[str, dict[str, str]]:
        resources = [ConfigResource(kind, name) for name in names]
        if not resources:
            return {}
        futures = self._admin.describe_configs(resources, request_timeout=_TIMEOUT)
        answers = {resource.name: self._call(future.result) for resource, future in futures.items()}
        return {name: {key: entry.value for key, entry in config.items()} for name, config in answers.items()}

    def _call(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except KafkaException as error:
            raise self._translated(error) from None

    def _translated(self, error: KafkaException) -> Exception:
        reason: KafkaError = error.args[0]
        if reason.code() in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN):
            return Unavailable(
                f"no broker answers at '{self.clients.address}'",
                hint="start one with 'whorl broker start', or set 'broker:' to one that runs",
                code="broker-unreachable",
            )
        return WorldError(f"the broker at '{self.clients.address}' answers: {reason.str()}", code="broker")


def _ask_committed(consumer: Any, asked: list[TopicPartition]) -> list[TopicPartition]:
    until = time.monotonic() + _TIMEOUT
    while True:
        try:
            answer: list[TopicPartition] = consumer.committed(asked, timeout=_TIMEOUT)
            return answer
        except KafkaException as error:
            if error.args[0].code() not in NO_COORDINATOR or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
