"""text and bytes: the whole value is the column `value`."""

from __future__ import annotations

from whorl.formats.codec import Codec, Row, missing


def text_codec() -> Codec:
    return Codec(_decode_text, _encode_text, {"value": "data.decode()"})


def bytes_codec() -> Codec:
    return Codec(_decode_bytes, _encode_bytes)


def _decode_text(data: bytes | None) -> Row | None:
    if data is None:
        return None
    try:
        return {"value": data.decode()}
    except UnicodeDecodeError as error:
        raise ValueError(f"the value is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _encode_text(row: Row) -> bytes | None:
    try:
        value = row["value"]
    except KeyError:
        raise missing("value", row) from None
    if value.__class__ is str:
        return str.encode(value)
    if value is None:
        return None
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int | float):
        return str(value).encode()
    raise ValueError(f"column 'value' holds {value!r}, which is not text; cast it to string")


def _decode_bytes(data: bytes | None) -> Row | None:
    return None if data is None else {"value": data}


def _encode_bytes(row: Row) -> bytes | None:
    try:
        value = row["value"]
    except KeyError:
        raise missing("value", row) from None
    if value is None or isinstance(value, bytes):
        return value
    raise ValueError(f"column 'value' holds {value!r}, which is not bytes; cast it to binary")
