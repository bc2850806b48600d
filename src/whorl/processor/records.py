"""A fetch as an RDD: executors read their partitions by librdkafka, with consumers that each Python worker keeps from fetch to fetch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from pyspark import RDD, SparkContext

from whorl.errors import Unavailable
from whorl.kafka.clients import KafkaClients
from whorl.kafka.pool import Pool
from whorl.kafka.topics import Place
from whorl.processor.spans import Span
from whorl.processor.used import Used
from whorl.tasks.clients import TaskClients

_SILENCE = 60.0
_BULK = 10_000
_QUEUE = {"fetch.wait.max.ms": 50, "queued.min.messages": 100_000, "queued.max.messages.kbytes": 65_536}
_CONSUMERS: Pool[Any] = Pool(lambda consumer: consumer.close())
"""Of this Python worker."""


class KafkaRecord(NamedTuple):
    """What a message handler is given."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int
    """Milliseconds since 1970."""


Handler = Callable[[KafkaRecord], Any]
Identity = Callable[[KafkaRecord], Any]
Part = tuple[Place, int, int]
"""A partition, from where, and up to where without."""


def rdd_of(context: SparkContext, clients: KafkaClients, span: Span, used: Used) -> RDD[KafkaRecord]:
    """One Spark partition for each partition of Kafka that has anything to read."""
    parts = [(place, span.starts[place], span.ends[place]) for place in span.filled]
    read = partial(_read_all, clients.address, dict(clients.extra), used)
    return context.parallelize(parts, max(len(parts), 1)).mapPartitions(read)


def distinct(records: RDD[KafkaRecord], identity: Identity) -> RDD[KafkaRecord]:
    """Of those with the same id the first, by topic, partition and offset. A record without an id is like no other."""
    keyed = records.map(lambda record: (_id_of(identity, record), record))
    return keyed.reduceByKey(lambda one, other: min(one, other, key=_place)).values()


def _id_of(identity: Identity, record: KafkaRecord) -> Any:
    found = identity(record)
    return _place(record) if found is None else (found,)


def _place(record: KafkaRecord) -> tuple[str, int, int]:
    return record[:3]


def _read_all(address: str, extra: dict[str, Any], used: Used, parts: Iterable[Part]) -> Iterator[KafkaRecord]:
    clients = TaskClients(address, extra)
    kind = (address, repr(sorted(extra.items())))
    with used.counting(_CONSUMERS):
        for place, start, end in parts:
            with _CONSUMERS.borrowed(kind, place, lambda: clients.consumer(**_QUEUE)) as consumer:
                yield from read_part(consumer, place, start, end)


def read_part(consumer: Any, place: Place, start: int, end: int, silence: float = _SILENCE) -> Iterator[KafkaRecord]:
    """Up to where Kafka says that nothing more comes before `end`: markers of transactions have offsets, and are no records."""
    consumer.assign([TopicPartition(*place, start)])
    heard = time.monotonic()
    while True:
        first = consumer.poll(0.2)
        if first is None:
            if time.monotonic() - heard > silence:
                raise Unavailable(f"{place[0]}/{place[1]} cannot be read at {start}", hint="is its broker up?")
            continue
        heard = time.monotonic()
        for message in (first, *consumer.consume(_BULK, 0)):
            if _is_behind(message, end):
                consumer.unassign()
                return
            if message.error() is None:
                yield KafkaRecord(
                    place[0],
                    place[1],
                    message.offset(),
                    message.key(),
                    message.value(),
                    message.headers() or [],
                    message.timestamp()[1],
                )


def _is_behind(message: Any, end: int) -> bool:
    """Whether all that was asked for came before this; raises what Kafka has against it."""
    error = message.error()
    if error is None:
        return bool(message.offset() >= end)
    if error.code() == KafkaError._PARTITION_EOF:
        return bool(message.offset() >= end)
    if error.retriable():
        return False
    raise KafkaException(error)
