from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.formats.descriptors import INLINED, descriptor_set

from whorl.errors import PipelineError
from whorl.formats import Codec, codec, format_schema, parse_format
from whorl.schema import Schema

ROW: dict[str, Any] = {
    "id": 7, "at": datetime(2026, 1, 5, 12, 0, 0, 1000, tzinfo=UTC), "kind": "SHOP",
    "lines": [{"item": "nut", "count": 2}, {"item": "bolt", "count": 0}], "note": "fragile", "raw": b"\x01\x02",
    "big": Decimal(2**64 - 1), "paid": 1.5, "tags": {"a": 1},
}  # fmt: skip


def made(message: str = "shop.Order", descriptor: str = INLINED) -> Codec:
    return codec(parse_format({"type": "protobuf", "descriptor": descriptor, "message": message}), None)


def test_there_and_back() -> None:
    both = made()
    data = both.encode(ROW)
    assert isinstance(data, bytes) and both.decode(data) == ROW
    assert both.decode(None) is None


def test_what_is_not_set_is_null_where_that_can_be_told() -> None:
    row = made().decode(b"")
    assert row == {
        "id": 0, "at": None, "kind": "WEB", "lines": [], "note": None, "raw": b"", "big": Decimal(0), "paid": 0.0, "tags": {},
    }  # fmt: skip
    assert made().encode({"id": None, "at": None, "more": 1}) == b""


def test_its_columns() -> None:
    assert format_schema(
        parse_format({"type": "protobuf", "descriptor": INLINED, "message": "shop.Order"})
    ) == Schema.of(
        {
            "id": "long",
            "at": "timestamp",
            "kind": "string",
            "lines": "array<struct<item:string,count:int>>",
            "note": "string",
            "raw": "binary",
            "big": "decimal(20,0)",
            "paid": "double",
            "tags": "map<string,int>",
        }
    )


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x08"])
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"is not a shop\.Order"):
        made().decode(data)


@pytest.mark.parametrize(
    ("column", "value"), [("kind", "MAIL"), ("id", "x"), ("lines", 5), ("at", "noon"), ("raw", 1.5)]
)
def test_a_column_that_does_not_fit_is_named(column: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"column '{column}' does not fit shop.Order.{column}"):
        made().encode({column: value})


def test_descriptors_that_are_wrong(tmp_path: Path) -> None:
    (tmp_path / "shop.desc").write_bytes(descriptor_set())
    assert made(descriptor=str(tmp_path / "shop.desc")).decode(b"") is not None
    for descriptor, message, said in [
        (str(tmp_path / "none.desc"), "shop.Order", "cannot be read"),
        (INLINED, "shop.Ordr", "has no message 'shop.Ordr'"),
        ("base64:AAAA", "shop.Order", "is wrong"),
    ]:
        with pytest.raises(PipelineError, match=said):
            made(message, descriptor)
    with pytest.raises(PipelineError, match="holds itself"):
        format_schema(parse_format({"type": "protobuf", "descriptor": INLINED, "message": "shop.Loop"}))
