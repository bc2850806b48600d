"""The consumer: the part of `confluent_kafka.Consumer` that reads assigned partitions.

Nothing waits: where librdkafka would sleep for the timeout, the broker's `idle` hook runs and the call returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import ClusterMetadata

from whorl.testing.memory.broker import MemoryBroker
from whorl.testing.memory.coordinator import Place
from whorl.testing.memory.faults import Faults
from whorl.testing.memory.log import PartitionLog
from whorl.testing.memory.messages import GroupMetadata, error_at, is_true, of_entry, of_failure
from whorl.testing.memory.metadata import cluster_metadata

RESETS = {"earliest": OFFSET_BEGINNING, "smallest": OFFSET_BEGINNING, "latest": OFFSET_END, "largest": OFFSET_END}
OUT_OF_RANGE = (
    "fetch failed due to requested offset not available on the broker: Broker: Offset out of range (broker 1)"
)
NOT_STORED = "no previously committed offset available: Local: No offset stored"


@dataclass(slots=True)
class _Fetch:
    """How far one assigned partition is read. `offset` may be logical until the first fetch; `dead` after an error."""

    offset: int
    position: int = OFFSET_INVALID
    eof_at: int = OFFSET_INVALID
    paused: bool = False
    dead: bool = False


class MemoryConsumer:
    def __init__(self, broker: MemoryBroker, config: Mapping[str, Any], faults: Faults | None = None) -> None:
        self._broker = broker
        self._faults = faults or Faults()
        self._group = str(config["group.id"])
        self._committed = config.get("isolation.level", "read_committed") == "read_committed"
        self._eof = is_true(config.get("enable.partition.eof", False))
        self._reset = str(config.get("auto.offset.reset", "latest"))
        self._fetches: dict[Place, _Fetch] = {}
        self._turn = 0
        self._closed = False

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("assign")
        self._fetches = {(tp.topic, tp.partition): _Fetch(tp.offset) for tp in partitions}

    def unassign(self) -> None:
        self._call("unassign")
        self._fetches = {}

    def incremental_assign(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("incremental_assign")
        self._fetches |= {(tp.topic, tp.partition): _Fetch(tp.offset) for tp in partitions}

    def incremental_unassign(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("incremental_unassign")
        for tp in partitions:
            del self._fetches[tp.topic, tp.partition]

    def assignment(self) -> list[TopicPartition]:
        self._call("assignment")
        return [TopicPartition(topic, partition, fetch.offset) for (topic, partition), fetch in self._fetches.items()]

    def poll(self, timeout: float = -1) -> Message | None:
        messages = self._read("poll", 1, timeout)
        return messages[0] if messages else None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        return self._read("consume", num_messages, timeout)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("pause")
        for fetch in self._assigned(partitions):
            fetch.paused = True

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        """The end of a resumed partition is reported anew."""
        self._call("resume")
        for fetch in self._assigned(partitions):
            fetch.paused, fetch.eof_at = False, OFFSET_INVALID

    def seek(self, partition: TopicPartition) -> None:
        self._call("seek")
        fetch = self._fetches.get((partition.topic, partition.partition))
        if fetch is None:
            reason = f"Failed to seek to offset {partition.offset}: Local: Erroneous state"
            raise KafkaException(KafkaError(KafkaError._STATE, reason))
        self._fetches[partition.topic, partition.partition] = _Fetch(partition.offset, paused=fetch.paused)

    def position(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        self._call("position")
        none = _Fetch(OFFSET_INVALID)
        found = (self._fetches.get((tp.topic, tp.partition), none) for tp in partitions)
        return [TopicPartition(tp.topic, tp.partition, at.position) for tp, at in zip(partitions, found, strict=True)]

    def committed(self, partitions: Sequence[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """As librdkafka does, a reader of committed data waits for pending offsets, which here is a timeout at once."""
        self._call("committed")
        places = [(tp.topic, tp.partition) for tp in partitions]
        if self._committed and self._broker.unstable(self._group, places):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "Failed to get committed offsets: Local: Timed out"))
        return [self._committed_at(place) for place in places]

    def commit(
        self, message: Message | None = None, offsets: Sequence[TopicPartition] | None = None, asynchronous: bool = True
    ) -> list[TopicPartition] | None:
        self._call("commit")
        if message is not None:
            offsets = [TopicPartition(message.topic(), message.partition(), message.offset() + 1)]
        elif offsets is None:
            read = ((place, fetch.position) for place, fetch in self._fetches.items())
            offsets = [TopicPartition(*place, position) for place, position in read if position >= 0]
        self._broker.commit_offsets(self._group, offsets)
        return None if asynchronous else list(offsets)

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, cached: bool = False
    ) -> tuple[int, int]:
        self._call("get_watermark_offsets")
        log = self._broker.log(partition.topic, partition.partition)
        if log is None:
            reason = "Failed to get watermark offsets: Local: Unknown partition"
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, reason))
        return log.start, log.readable_end(self._committed and not cached)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        self._call("list_topics")
        return cluster_metadata(self._broker, topic)

    def consumer_group_metadata(self) -> GroupMetadata:
        self._call("consumer_group_metadata")
        return GroupMetadata(self._group)

    def close(self) -> None:
        if not self._closed:
            self._call("close")
        self._closed = True

    def _call(self, name: str) -> None:
        failure = self._faults.reach(f"consumer.{name}")
        if self._closed:
            raise RuntimeError("Consumer closed")
        if failure:
            raise KafkaException(failure.error())

    def _read(self, name: str, most: int, timeout: float) -> list[Message]:
        failure = self._faults.reach(f"consumer.{name}")
        if self._closed:
            raise RuntimeError("Consumer closed")
        if failure:
            return [of_failure(failure)]
        messages = list(self._messages(most))
        if not messages:
            self._broker.idle(timeout)
        return messages

    def _messages(self, most: int) -> Iterator[Message]:
        """Up to `most` messages: whole runs of a partition, and another partition first each time."""
        places = list(self._fetches)
        self._turn += 1
        for index in range(len(places)):
            place = places[(index + self._turn) % len(places)]
            while most > 0 and (message := self._next(place, self._fetches[place])) is not None:
                most -= 1
                yield message

    def _next(self, place: Place, fetch: _Fetch) -> Message | None:
        log = self._broker.log(*place)
        if log is None or fetch.paused or fetch.dead:  # librdkafka keeps silent about a partition that is not there
            return None
        if not log.start <= fetch.offset <= log.end and (error := self._resolve(place, fetch, log)):
            return error
        entry = log.next_visible(fetch.offset, self._committed)
        if entry is None:
            return self._at_end(place, fetch, log.readable_end(self._committed))
        fetch.offset = fetch.position = entry.offset + 1
        return of_entry(entry)

    def _at_end(self, place: Place, fetch: _Fetch, end: int) -> Message | None:
        if end < fetch.offset:
            return None
        if end > fetch.offset:
            fetch.offset = fetch.position = end
        if not self._eof or fetch.eof_at == end:
            return None
        fetch.eof_at = end
        reason = f"Fetch from broker 1 reached end of partition at offset {end}"
        return error_at(place, end, KafkaError._PARTITION_EOF, reason)

    def _resolve(self, place: Place, fetch: _Fetch, log: PartitionLog) -> Message | None:
        """Make the offset one that the log has, or say that it has not."""
        asked, reason = fetch.offset, OUT_OF_RANGE
        if asked in (OFFSET_STORED, OFFSET_INVALID):
            stored = self._broker.committed(self._group, place)
            asked, reason = (stored.offset, reason) if stored else (OFFSET_INVALID, NOT_STORED)
        if asked not in (OFFSET_BEGINNING, OFFSET_END) and not log.start <= asked <= log.end:
            if self._reset not in RESETS:
                fetch.dead = True
                return error_at(place, asked, KafkaError._AUTO_OFFSET_RESET, reason)
            asked = RESETS[self._reset]
        ends = {OFFSET_BEGINNING: log.start, OFFSET_END: log.readable_end(self._committed)}
        fetch.offset = ends.get(asked, asked)
        return None

    def _committed_at(self, place: Place) -> TopicPartition:
        found = self._broker.committed(self._group, place)
        return TopicPartition(*place, found.offset, found.metadata) if found else TopicPartition(*place, OFFSET_INVALID)

    def _assigned(self, partitions: Sequence[TopicPartition]) -> Iterator[_Fetch]:
        fetches = (self._fetches.get((tp.topic, tp.partition)) for tp in partitions)
        return (fetch for fetch in fetches if fetch)
