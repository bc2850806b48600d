from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from whorl.cli.shown import as_data, as_text, dumped
from whorl.formats.rows import encode

ROW = {"a": 1, "at": datetime(2026, 1, 31, tzinfo=UTC), "sum": Decimal("1.50"), "raw": b"\xff"}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "null"),
        (b"", ""),
        ("grün".encode(), "grün"),
        (b'{"a": 1}', '{"a": 1}'),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"a\x1b[31mb", "a\\x1b[31mb"),
        (b"two\nlines", "two\nlines"),
        (b"\x01not msgpack", "\\x01not msgpack"),
        (encode({"a": 1}), '{"a":1}'),
    ],
)
def test_as_text(data: bytes | None, text: str) -> None:
    assert as_text(data) == text


def test_rows_become_json_with_all_their_types() -> None:
    assert as_text(encode(ROW)) == '{"a":1,"at":"2026-01-31T00:00:00+00:00","sum":"1.50","raw":"\\\\xff"}'


@pytest.mark.parametrize(("data", "value"), [(None, None), (b"[1]", [1]), (b"x", "x"), (encode({"a": 1}), {"a": 1})])
def test_as_data(data: bytes | None, value: object) -> None:
    assert as_data(data) == value
    assert dumped(value)
