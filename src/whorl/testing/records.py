"""What goes into a pipeline under test, and the bad records that come out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whorl.errors import UsageError
from whorl.formats import codec
from whorl.formats.coerce import converter
from whorl.operators.record import Row
from whorl.plan import naming
from whorl.plan.plan import Input
from whorl.schema import Schema
from whorl.sinks.kafka import key_bytes, key_maker
from whorl.testing.memory import Entry

FROM_ROW: Any = object()
_TYPED = ("avro", "protobuf", "rows")
"""Formats that write values by their type; the others take what was written and judge it when it is read."""


@dataclass(frozen=True)
class Given:
    """A whole record for a source. `value` is a row, or what stands in Kafka as it is: bytes, text, None.

    Without a key it gets that of the columns which the source names in `key`, if any.
    """

    value: Row | bytes | str | None
    key: bytes | str | None = FROM_ROW
    headers: Mapping[str, bytes | str | None] | None = None
    timestamp: int | None = None
    """Milliseconds since 1970."""


@dataclass(frozen=True)
class DeadLetter:
    """A record that failed: where, why, and where it came from; of a timer, its key alone."""

    operator: str
    error: str
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def as_given(record: Row | Given) -> Given:
    return record if isinstance(record, Given) else Given(record)


def key_of(given: Given, columns: tuple[str, ...]) -> bytes | None:
    if given.key is not FROM_ROW:
        return key_bytes(given.key)
    return key_maker(columns)(given.value) if columns and isinstance(given.value, dict) else None


def encoder(input: Input) -> Callable[[Given], bytes | None]:
    """From a record to the bytes that the source reads."""
    encode = codec(input.format, input.schema).encode

    def encoded(given: Given) -> bytes | None:
        value = given.value
        if not isinstance(value, dict):
            return value.encode() if isinstance(value, str) else value
        try:
            return encode(typed(value, input.schema) if input.format.type in _TYPED else value)
        except (ValueError, TypeError) as error:
            message = f"the row {value!r} for source '{input.id}' cannot be written as {input.format.type}: {error}"
            raise UsageError(message, hint="give it the columns and types of the source", code="row") from None

    return encoded


def typed(row: Row, schema: Schema | None) -> Row:
    """A row as written in YAML or JSON with the types of its columns; what does not fit stays as it is."""
    return {name: _fitted(value, schema.type_of(name)) for name, value in row.items()} if schema else row


def _fitted(value: Any, type: str) -> Any:
    convert = converter(type)
    if value is None or convert is None:
        return value
    try:
        return convert(value)
    except (ValueError, TypeError, ArithmeticError):
        return value


def as_dead_letter(entry: Entry) -> DeadLetter:
    notes = {name: (value or b"").decode(errors="replace") for name, value in entry.headers}
    return DeadLetter(
        operator=notes[naming.DEAD_OPERATOR],
        error=notes[naming.DEAD_ERROR],
        topic=notes.get(naming.DEAD_TOPIC, ""),
        partition=int(notes.get(naming.DEAD_PARTITION, -1)),
        offset=int(notes.get(naming.DEAD_OFFSET, -1)),
        key=entry.key,
        value=entry.value,
    )
