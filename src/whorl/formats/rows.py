"""rows: Whorl's own format, for topics between components. Every type of a row comes back as it was.

The first byte is the version of the format, the rest msgpack. A reader refuses a version that it does not know.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgpack

from whorl.formats.codec import Codec, Row

VERSION = 1
_PREFIX = bytes([VERSION])
_TIMESTAMP, _DATE, _DECIMAL, _BIG = 1, 2, 3, 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def rows_codec() -> Codec:
    return Codec(decode, encode)


def encode(row: Row) -> bytes:
    try:
        packed: bytes = msgpack.packb(row, default=_pack)
    except (TypeError, OverflowError, ValueError) as error:
        raise ValueError(f"the row cannot be written: {error}") from None
    return _PREFIX + packed


def decode(data: bytes | None) -> Row | None:
    if data is None:
        return None
    if data[:1] != _PREFIX:
        raise ValueError(
            f"the record is in version {data[0] if data else 'nothing'} of the rows format; known is {VERSION}"
        )
    try:
        row: Row = msgpack.unpackb(memoryview(data)[1:], ext_hook=_unpack, strict_map_key=False)
    except Exception as error:
        raise ValueError(f"the record is not in the rows format: {error}") from None
    return row


def _pack(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return msgpack.ExtType(_TIMESTAMP, ((moment - _EPOCH) // _MICROSECOND).to_bytes(8, "big", signed=True))
    if isinstance(value, date):
        return msgpack.ExtType(_DATE, value.toordinal().to_bytes(4, "big"))
    if isinstance(value, Decimal):
        return msgpack.ExtType(_DECIMAL, str(value).encode())
    if isinstance(value, int):
        return msgpack.ExtType(_BIG, str(value).encode())
    raise TypeError(f"{value!r} of type {type(value).__name__} has no form there")


def _unpack(code: int, data: bytes) -> Any:
    if code == _TIMESTAMP:
        return _EPOCH + timedelta(microseconds=int.from_bytes(data, "big", signed=True))
    if code == _DATE:
        return date.fromordinal(int.from_bytes(data, "big"))
    if code == _DECIMAL:
        return Decimal(bytes(data).decode())
    if code == _BIG:
        return int(bytes(data))
    raise ValueError(f"unknown kind of value {code}")
