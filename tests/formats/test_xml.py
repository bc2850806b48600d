from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from whorl.errors import PipelineError
from whorl.formats import Codec, codec, parse_format
from whorl.schema import Schema

SCHEMA = {
    "_id": "long", "who": "string", "price": "decimal(6,2)", "at": "timestamp", "line": "array<struct<_n:int,item:string>>",
    "on": "boolean", "tags": "map<string,int>",
}  # fmt: skip
ROW = {
    "_id": 7, "who": "a & <b>", "price": Decimal("1.50"), "at": datetime(2026, 1, 5, 12, tzinfo=UTC),
    "line": [{"_n": 1, "item": "nut"}, {"_n": 2, "item": "bolt"}], "on": True, "tags": {"a": 1},
}  # fmt: skip


def made(schema: dict[str, str] | None = SCHEMA, **options: Any) -> Codec:
    return codec(parse_format({"type": "xml", **options}), Schema.of(schema) if schema else None)


def test_there_and_back() -> None:
    data = made(row_tag="order").encode(ROW)
    assert data is not None and data.startswith(b'<order id="7"><who>a &amp; &lt;b&gt;</who><price>1.50</price>')
    assert made().decode(data) == ROW
    assert made().decode(None) is None


def test_what_is_missing_is_null() -> None:
    assert made().decode(b"<x><price/></x>") == dict.fromkeys(SCHEMA)
    assert made({"who": "string", "v": "struct<_VALUE:double,_unit:string>"}).decode(
        b"<o xmlns='urn:x'><who></who><v unit='m'> 2.5 </v></o>"
    ) == {"who": "", "v": {"_VALUE": 2.5, "_unit": "m"}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<a>", "not XML"), (b"", "not XML"), (b"\xff", "not XML"), (b"<x><price>much</price></x>", "column 'price'"),
        (b"<x><who>a</who><who>b</who></x>", "2 elements 'who'"), (b"<x><who><b/></who></x>", "elements of its own"),
    ],
)  # fmt: skip
def test_what_is_no_row(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made().decode(data)


def test_it_needs_columns() -> None:
    with pytest.raises(PipelineError, match="does not know its columns"):
        made(None).decode(b"<x/>")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"w": "a\x00b"}, "column 'w': the character '\\x00' cannot be written in XML"),
        ({"w": ["fine", "\x0b"]}, "column 'w': the character"),
        ({"w": "\ud800"}, "column 'w': the character '\\ud800' cannot"),
        ({"_a": "\x1f"}, "column '_a': the character"),
        ({"two words": 1}, "'two words' cannot be the name of an element"),
        ({"m": {"1st": 1}}, "column 'm': '1st' cannot be the name"),
    ],
)
def test_what_xml_cannot_hold_is_no_record(row: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        codec(parse_format("xml"), None).encode(row)


def test_any_other_text_comes_back() -> None:
    made = codec(parse_format("xml"), Schema.of({"w": "string"}))
    for text in ("a\tb", "<&>", "grün", "\U0001f600", "\ufffd"):
        assert made.decode(made.encode({"w": text})) == {"w": text}
