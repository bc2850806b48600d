"""Log entries and errors as messages with the client library's methods; its own class cannot be made from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_INVALID, TIMESTAMP_NOT_AVAILABLE, KafkaError

from whorl.testing.memory.coordinator import Place
from whorl.testing.memory.faults import Failure
from whorl.testing.memory.log import Entry

NO_TIMESTAMP = (TIMESTAMP_NOT_AVAILABLE, -1)


class Message:
    """What a consumer's poll gives. Its truth is its value's length, as in the client library: ask `is None`."""

    __slots__ = ("_error", "_headers", "_key", "_offset", "_partition", "_timestamp", "_topic", "_value")

    def __init__(
        self,
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: list[tuple[str, bytes | None]] | None = None,
        error: KafkaError | None = None,
        timestamp: tuple[int, int],
    ) -> None:
        self._topic, self._partition, self._offset = topic, partition, offset
        self._key, self._value, self._headers = key, value, headers
        self._error, self._timestamp = error, timestamp

    def topic(self) -> str | None:
        return self._topic

    def partition(self) -> int | None:
        return self._partition

    def offset(self) -> int | None:
        return self._offset if self._offset is not None and self._offset >= 0 else None

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._headers

    def error(self) -> KafkaError | None:
        return self._error

    def timestamp(self) -> tuple[int, int]:
        return self._timestamp

    def __len__(self) -> int:
        return len(self._value or b"")


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """What `send_offsets_to_transaction` wants to know of a consumer."""

    group: str


def of_entry(entry: Entry) -> Message:
    """As a consumer gets it."""
    return Message(
        topic=entry.topic,
        partition=entry.partition,
        offset=entry.offset,
        key=entry.key,
        value=entry.value,
        headers=list(entry.headers) or None,
        timestamp=(entry.timestamp_type, entry.timestamp),
    )


def of_delivery(entry: Entry, error: KafkaError | None) -> Message:
    """As a delivery report has it: without headers, and without a place in the log if it failed."""
    return Message(
        topic=entry.topic,
        partition=entry.partition,
        offset=entry.offset if error is None else OFFSET_INVALID,
        key=entry.key,
        value=entry.value,
        error=error,
        timestamp=(entry.timestamp_type, entry.timestamp) if error is None else NO_TIMESTAMP,
    )


def error_at(place: Place, offset: int, code: int, reason: str) -> Message:
    topic, partition = place
    return Message(
        topic=topic,
        partition=partition,
        offset=offset,
        value=reason.encode(),
        error=KafkaError(code, reason),
        timestamp=NO_TIMESTAMP,
    )


def of_failure(failure: Failure) -> Message:
    return Message(value=failure.reason.encode(), error=failure.error(), timestamp=NO_TIMESTAMP)


def is_true(value: Any) -> bool:
    """A setting as librdkafka reads it: True and `true` are the same."""
    return str(value).lower() in ("true", "1")
