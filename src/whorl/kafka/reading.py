"""Reading topics from start to end, as committed. The end is where Kafka says it is (PARTITION_EOF), never a count of records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.errors import Unavailable, WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.topics import NO_LEADER, Cluster

_ANSWER = 30.0
"""Seconds in which a broker answers, or does not."""
_BULK = 10_000
STEADY = {"fetch.queue.backoff.ms": 10}
"""Of a consumer that reads much: librdkafka's own second of rest after a full queue would let a fast loop run dry."""
_UNKNOWN = (*NO_LEADER, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC)


@contextmanager
def reading(topic: str) -> Iterator[None]:
    """What Kafka has against it comes as an error of ours."""
    try:
        yield
    except KafkaException as error:
        raise WorldError(f"'{topic}' cannot be read: {error.args[0].str()}", code="consume") from None


def read_to_end(
    clients: Clients,
    partitions: Iterable[tuple[str, int]],
    timeout: float = 60.0,
    past_open: bool = False,
    isolation: str = "read_committed",
) -> Iterator[Any]:
    """All committed records of these partitions; returns when each was read to its end, raises Unavailable after `timeout` of silence.

    Committed records behind an open transaction of somebody else are out of sight, and the end seems to come before them; with
    `past_open` that transaction's end is awaited.
    """
    wanted = [TopicPartition(topic, partition, 0) for topic, partition in partitions]
    if not wanted:
        return
    # Asking Kafka for the beginning costs half a second; going to 0, and to the earliest where that is gone, costs nothing.
    consumer = clients.consumer(**{"auto.offset.reset": "earliest", "isolation.level": isolation})
    try:
        consumer.assign(wanted)
        yield from _until_ends(consumer, {(tp.topic, tp.partition) for tp in wanted}, timeout, past_open)
    finally:
        consumer.close()


def read_as_of_now(clients: Clients, place: tuple[str, int]) -> Iterator[Any]:
    """As `read_to_end`, of one partition, and no further than it reaches now: who writes it all the time could be ahead for ever."""
    consumer = clients.consumer(**{"auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(*place), timeout=_ANSWER)
        consumer.assign([TopicPartition(*place, 0)])
        for bulk in _bulks_until_ends(consumer, {place}, timeout=60.0, most=_BULK):
            for message in bulk:
                if message.offset() >= end:
                    return
                yield message
    finally:
        consumer.close()


def read_on(clients: Clients, starts: Mapping[tuple[str, int], int], timeout: float = 60.0) -> Iterator[Any]:
    """As `read_to_end`, from these positions on."""
    for bulk in read_bulks_on(clients, starts, 1, timeout):
        yield from bulk


def read_bulks_on(
    clients: Clients, starts: Mapping[tuple[str, int], int], most: int = _BULK, timeout: float = 60.0
) -> Iterator[list[Any]]:
    """As `read_on`, up to `most` at once: for those who have millions to read."""
    if not starts:
        return
    consumer = clients.consumer(**{"auto.offset.reset": "earliest", "isolation.level": "read_committed", **STEADY})
    try:
        consumer.assign([TopicPartition(*place, start) for place, start in starts.items()])
        yield from _bulks_until_ends(consumer, set(starts), timeout, most=most)
    finally:
        consumer.close()


def _until_ends(consumer: Any, waiting: set[tuple[str, int]], timeout: float, past_open: bool = False) -> Iterator[Any]:
    for bulk in _bulks_until_ends(consumer, waiting, timeout, past_open):
        yield from bulk


def _bulks_until_ends(
    consumer: Any, waiting: set[tuple[str, int]], timeout: float, past_open: bool = False, most: int = 1
) -> Iterator[list[Any]]:
    silent_since = begun = time.monotonic()
    while waiting:
        first = consumer.poll(0.2)
        if first is None:
            if time.monotonic() - silent_since > timeout:
                topic, partition = next(iter(waiting))
                raise Unavailable(f"topic '{topic}' partition {partition} cannot be read", hint="is its broker up?")
            continue
        silent_since = time.monotonic()
        bulk = [first] if most == 1 else [first, *consumer.consume(most - 1, 0)]
        errors = [message for message in bulk if message.error() is not None]
        for message in errors:
            if message.error().code() == KafkaError._PARTITION_EOF:
                if not (past_open and _hides_more(consumer, message)):
                    waiting.discard((message.topic(), message.partition()))
            elif not message.error().retriable() and not _is_young(message.error(), begun, timeout):
                raise KafkaException(message.error())
        yield [message for message in bulk if message.error() is None] if errors else bulk


def _is_young(error: KafkaError, begun: float, timeout: float) -> bool:
    """A topic that was just made may not be known everywhere yet; the client goes on by itself when it is."""
    return error.code() in _UNKNOWN and time.monotonic() - begun < timeout


def _hides_more(consumer: Any, end: Any) -> bool:
    """Whether records lie behind the end that readers of committed data see."""
    _, high = consumer.get_watermark_offsets(TopicPartition(end.topic(), end.partition()), cached=True)
    return bool(high > end.offset())


def bounds_of(clients: Clients, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int]]:
    """The first offset of each, and the one behind the last."""
    consumer = clients.consumer()
    try:
        return {place: _bounds(consumer, TopicPartition(*place)) for place in places}
    finally:
        consumer.close()


def _bounds(consumer: Any, place: TopicPartition) -> tuple[int, int]:
    """The leader of a partition that was just made may not know yet that it is."""
    until = time.monotonic() + _ANSWER
    while True:
        try:
            found: tuple[int, int] = consumer.get_watermark_offsets(place, timeout=_ANSWER)
            return found
        except KafkaException as error:
            if error.args[0].code() not in NO_LEADER or time.monotonic() > until:
                raise
            time.sleep(0.1)


def read_tail(clients: Clients, cluster: Cluster, places: Iterable[tuple[str, int]], most: int) -> list[Any]:
    """The last records of each partition, at most so many."""
    places = list(places)
    earliest, latest = cluster.earliest(places), cluster.latest(places)
    wanted = [TopicPartition(*place, max(earliest[place], latest[place] - most)) for place in places]
    consumer = clients.consumer()
    try:
        consumer.assign(wanted)
        return list(_until_ends(consumer, set(places), timeout=15.0))
    finally:
        consumer.close()
