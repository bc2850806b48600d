"""Why a record is no row, in the words of the codec that the other host reads it with.

Spark says only that it is none: to find the words in its plan would cost every batch more than writing it (each task makes the code of a
projection anew), and dead letters are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from whorl.formats import Codec, FormatOptions, codec
from whorl.formats.codec import TOMBSTONE
from whorl.plan import naming
from whorl.schema import Schema
from whorl.sinks.kafka import Entry

Readers = Mapping[str, tuple[FormatOptions, Schema | None]]
"""By input: how its records are read."""
_OPERATOR, _ERROR, _PLAIN = naming.DEAD_OPERATOR, naming.DEAD_ERROR, ("text", "bytes")


def explained(rows: Iterable[Entry], dead_letter: str, readers: Readers) -> Iterator[Entry]:
    """The same rows, with the reason in those that no input could read."""
    for row in rows:
        if row[0] == dead_letter and row[7] is not None:
            operator = dict(row[7]).get(_OPERATOR) or b""  # none in a row of a sink that writes to the same topic
            reader = readers.get(operator.decode())
            if reader and (words := _why(*reader, row[1])):
                row = (*row[:7], _with(words, row[7]))
        yield row


def _with(words: bytes, headers: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """In place of the last reason: a record that was a dead letter before has an older one too."""
    last = max(index for index, (name, _) in enumerate(headers) if name == _ERROR)
    return [*headers[:last], (_ERROR, words), *headers[last + 1 :]]


def _why(format: FormatOptions, schema: Schema | None, value: bytes | None) -> bytes | None:
    """None where the codec, unlike Spark, reads it."""
    try:
        row = _codec(format, schema).decode(value)
    except ValueError as error:
        return f"ValueError: {error}".encode(errors="replace")[: naming.LONGEST_ERROR]
    return f"ValueError: {TOMBSTONE}".encode() if row is None and format.type not in _PLAIN else None


@cache
def _codec(format: FormatOptions, schema: Schema | None) -> Codec:
    return codec(format, schema)
