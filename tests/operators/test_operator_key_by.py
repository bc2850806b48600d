from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.operators.operator import Shape
from whorl.schema import Schema

SCHEMA = Schema.of({"a": "string", "n": "long"})


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("ü", "ü".encode()), (42, b"42"), (None, None), (True, b"true"), (b"raw", b"raw"), (1.5, b"1.5"), (Decimal("1.50"), b"1.50"),
        (datetime(2024, 1, 1, tzinfo=UTC), b"2024-01-01T00:00:00+00:00"), ("", b""),
    ],
)  # fmt: skip
def test_one_value_is_its_text(value: Any, key: bytes | None) -> None:
    assert step("key_by", None, key="x").call({"x": value}) == key
    assert step("key_by", None, key=["x"]).call({"x": value}) == key


def test_an_expression() -> None:
    made = step("key_by", SCHEMA, key="upper(a)")
    assert made.shape is Shape.KEY
    assert made.call({"a": "x"}) == b"X"


def test_several_columns_are_a_json_array() -> None:
    assert step("key_by", SCHEMA, key=["a", "n"]).call({"a": "x", "n": 5}) == b'["x",5]'
    assert step("key_by", SCHEMA, key=["a", "n"]).call({"a": None, "n": 5}) == b"[null,5]"


def test_for_check() -> None:
    assert list(operator("key_by", key="upper(a)").expressions()) == [(("key",), "upper(a)")]
    assert list(operator("key_by", key=["a", "n"]).columns()) == [(("key", 0), "a"), (("key", 1), "n")]
    with pytest.raises(ValidationError, match="empty"):
        operator("key_by", key="")
