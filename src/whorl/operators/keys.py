"""The key of a record, as bytes in Kafka and as operators see it.

One column is written as text, several as a JSON array (`whorl.sinks.kafka.key_maker`); here is the way back, by the columns' types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from whorl.formats.coerce import cell_converter
from whorl.schema import UNKNOWN, Schema

KeyOf = Callable[[bytes], Any]


def key_reader(columns: Sequence[str], schema: Schema | None) -> KeyOf:
    """From a key's bytes to the value of its column, or the tuple of its columns' values."""
    if len(columns) > 1:
        return lambda key: tuple(orjson.loads(key))
    convert = cell_converter(schema.type_of(columns[0]) if schema and columns else UNKNOWN)
    return _text if convert is None else lambda key: convert(key.decode())


def _text(key: bytes) -> Any:
    """Text where it is any, else the bytes as they are."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key
