"""Log entries and errors as the client library's own messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_INVALID, TIMESTAMP_NOT_AVAILABLE, KafkaError, Message

from whorl.testing.memory.coordinator import Place
from whorl.testing.memory.faults import Failure
from whorl.testing.memory.log import Entry

NO_TIMESTAMP = (TIMESTAMP_NOT_AVAILABLE, -1)


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
