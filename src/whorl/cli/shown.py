"""Keys and values of records as people can read them.

Rows in Whorl's own format become JSON, text stays text, and bytes that are neither are escaped.
"""

from __future__ import annotations

from typing import Any

import orjson

from whorl.formats import rows

_PLAIN_CONTROLS = "\t\n"


def as_text(data: bytes | None) -> str:
    if data is None:
        return "null"
    row = _row(data)
    return dumped(row) if row is not None else _printable(data)


def as_data(data: bytes | None) -> Any:
    """What goes into a JSON document: a row, what was JSON itself, else text."""
    if data is None:
        return None
    row = _row(data)
    if row is not None:
        return row
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _printable(data)


def dumped(value: Any) -> str:
    return orjson.dumps(value, default=_other, option=orjson.OPT_NON_STR_KEYS).decode()


def _row(data: bytes) -> dict[str, Any] | None:
    if data[:1] != bytes([rows.VERSION]):
        return None
    try:
        row = rows.decode(data)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _printable(data: bytes) -> str:
    text = data.decode(errors="backslashreplace")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _PLAIN_CONTROLS else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _other(value: Any) -> str:
    return _printable(value) if isinstance(value, bytes) else str(value)
