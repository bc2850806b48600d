"""From a row to the arguments of `Producer.produce`, for every kind of output that is a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import orjson

from whorl.operators.chain import StepFailed
from whorl.operators.record import UNCHANGED, Headers, Message, Metadata, Row
from whorl.plan import naming
from whorl.plan.plan import Output

Entry = tuple[str, bytes | None, bytes | None, int, None, None, int, Any]
"""topic, value, key, partition, callback, callback, timestamp, headers: the order of `Producer.produce`."""
Encode = Callable[[Any], bytes | None]
BY_KEY = -1
_LONGEST_DEAD_VALUE = 64 << 10
_LONGEST_DEAD_KEY = 1 << 10
OVERHEAD = 512
"""What Kafka adds to a record and its batch, at most."""
_HEADER = 10
"""What it adds to a header."""


def emitter(
    output: Output, encode: Encode, partitions: int, limit: int, append: Callable[[Entry], None]
) -> Callable[[Row, Metadata], None]:
    """A function that appends one row's entry to the journal. `limit` is the largest message the topic takes."""
    topic, with_headers, by_key = output.topic, output.headers, output.keyed
    make_key = key_maker(output.key) if output.key else None

    def emit(row: Row, meta: Metadata) -> None:
        message, headers, timestamp = meta.message, meta.own_headers, meta.own_timestamp
        if headers is UNCHANGED:
            headers = message.headers() if with_headers else None
        try:
            value = encode(row)
            key = make_key(row) if make_key else meta.key
            size = record_size(value, key, headers)
            if size > limit:
                raise ValueError(f"{size} bytes are too large for topic '{topic}' (max.message.bytes {limit})")
        except Exception as error:
            raise StepFailed(output.id, error) from error
        if timestamp is UNCHANGED:
            timestamp = message.timestamp()[1]
        came_from = None if by_key else message.partition()  # a timer comes from none
        partition = BY_KEY if came_from is None else came_from % partitions
        append((topic, value, key, partition, None, None, timestamp if timestamp > 0 else 0, headers))

    return emit


def copier(
    output: Output, partitions: int, limit: int, extend: Callable[[Iterable[Entry]], None]
) -> Callable[[list[Message]], None]:
    """As `emitter` for many records that pass as they came; raises, with nothing appended, where one of them may be too large."""
    entries_of = entry_maker(output, partitions, limit)

    def copy(messages: list[Message]) -> None:
        values, keys = [message.value() for message in messages], [message.key() for message in messages]
        extend(entries_of(values, keys, messages))

    return copy


Entries = Callable[[list[bytes | None], list[bytes | None], list[Any]], list[Entry]]


def entry_maker(output: Output, partitions: int, limit: int) -> Entries:
    """From values, keys, and the records of one partition that they came from, to entries. Raises where one needs to be looked at alone."""
    topic, with_headers, by_key = output.topic, output.headers, output.keyed

    def entries_of(values: list[bytes | None], keys: list[bytes | None], messages: list[Any]) -> list[Entry]:
        times = [message.timestamp()[1] for message in messages]
        headers = [message.headers() for message in messages] if with_headers else repeat(None)
        partition = BY_KEY if by_key else messages[0].partition() % partitions
        unreported = repeat(None)
        columns = (repeat(topic), values, keys, repeat(partition), unreported, unreported, times, headers)
        entries: list[Any] = list(zip(*columns, strict=False))
        if min(times) < 0 or not (_all_fit(values, keys, limit) and _fit_with_headers(entries, limit)):
            raise StepFailed(output.id, ValueError("each record is to be looked at alone"))
        return entries

    return entries_of


def _all_fit(values: list[bytes | None], keys: list[bytes | None], limit: int) -> bool:
    """Also if the longest value had the longest key."""
    longest_value, longest_key = (max(map(len, filter(None, each)), default=0) for each in (values, keys))
    return longest_value + longest_key + OVERHEAD <= limit


def _fit_with_headers(entries: list[Entry], limit: int) -> bool:
    return not any(entry[7] and record_size(entry[1], entry[2], entry[7]) > limit for entry in entries)


def record_size(value: bytes | None, key: bytes | None, headers: Headers | None) -> int:
    """What a record takes in Kafka, at most."""
    size = OVERHEAD + (0 if value is None else len(value)) + (0 if key is None else len(key))
    return size + sum(len(name) + len(data or b"") + _HEADER for name, data in headers) if headers else size


def key_maker(columns: Sequence[str]) -> Callable[[Row], bytes | None]:
    """The key that columns make: one column as text, several as a JSON array; null where any is null."""
    if len(columns) == 1:
        name = columns[0]
        return lambda row: key_bytes(row.get(name))

    def several(row: Row) -> bytes | None:
        values = [row.get(name) for name in columns]
        return None if None in values else orjson.dumps(values, default=str)

    return several


def key_bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return value.encode() if isinstance(value, str) else str(value).encode()


def dead_letter(topic: str, message: Message, operator: str, error: str, limit: int) -> Entry:
    """The record as it came, with what failed and where in its headers; too large for the topic, its first 64 KB, and if its own headers
    or its key are too large, no headers and the start of the key."""
    value, key, own = message.value(), message.key(), list(message.headers() or [])
    reasons: list[tuple[str, bytes | None]] = [
        (naming.DEAD_OPERATOR, operator.encode()),
        (naming.DEAD_ERROR, error.encode(errors="replace")[: naming.LONGEST_ERROR]),
        *_position(message),
    ]
    if record_size(value, key, [*own, *reasons]) > limit:
        reasons.append((naming.DEAD_TRUNCATED, str(len(value or b"")).encode()))
        value = value and value[:_LONGEST_DEAD_VALUE]
        if record_size(value, key, [*own, *reasons]) > limit:
            key, own = key and key[:_LONGEST_DEAD_KEY], []
    return (topic, value, key, BY_KEY, None, None, max(message.timestamp()[1], 0), [*own, *reasons])


def _position(message: Message) -> Iterator[tuple[str, bytes]]:
    """A timer has none."""
    topic = message.topic()
    if topic is not None:
        yield naming.DEAD_TOPIC, topic.encode()
        yield naming.DEAD_PARTITION, str(message.partition()).encode()
        yield naming.DEAD_OFFSET, str(message.offset()).encode()


def dead_row(
    topic: str, value: bytes | None, key: bytes | None, time: int, operator: str, error: str, limit: int
) -> Entry:
    """A row that its topic does not take, where the record it came from is not at hand: as much of it as fits, and why."""
    headers: list[tuple[str, bytes | None]] = [
        (naming.DEAD_OPERATOR, operator.encode()),
        (naming.DEAD_ERROR, error.encode()),
    ]
    if record_size(value, key, headers) > limit:
        headers.append((naming.DEAD_TRUNCATED, str(len(value or b"")).encode()))
        value, key = value and value[:_LONGEST_DEAD_VALUE], key and key[:_LONGEST_DEAD_KEY]
    return (topic, value, key, BY_KEY, None, None, time, headers)
