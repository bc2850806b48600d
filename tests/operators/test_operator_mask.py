from __future__ import annotations

import hashlib

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.schema import Schema

SCHEMA = Schema.of({"card": "string", "account": "long", "name": "string", "pin": "int", "amount": "double"})
ROW = {"card": "4000123412341234", "account": 7, "name": "Ada", "pin": 12, "amount": 1.5}


def test_each_way() -> None:
    made = step("mask", SCHEMA, columns={"card": "last4", "account": "hash", "name": "redact", "pin": None}, salt="s")
    assert made.call(ROW) == {
        "card": "************1234",
        "account": hashlib.sha256(b"s7").hexdigest(),
        "name": "***",
        "pin": None,
        "amount": 1.5,
    }


def test_what_is_null_stays_null_and_what_is_short_stays() -> None:
    made = step("mask", SCHEMA, columns={"card": "last4", "account": "hash", "name": "redact"}, replacement="?")
    assert made.call({**ROW, "card": None, "account": None, "name": None}) == {
        **ROW, "card": None, "account": None, "name": None,
    }  # fmt: skip
    assert made.call({**ROW, "card": "123"})["card"] == "123"
    assert made.call(ROW)["name"] == "?"


def test_a_masked_column_is_text() -> None:
    made = operator("mask", columns={"account": "hash"})
    assert made.output(SCHEMA) == Schema.of({**dict(SCHEMA), "account": "string"})
    assert list(made.columns()) == [(("columns", "account"), "account")]


@pytest.mark.parametrize("way", ["hide", "last", "last0"])
def test_another_way_is_refused(way: str) -> None:
    with pytest.raises(ValidationError, match="write hash, redact, null, or last4"):
        operator("mask", columns={"card": way})
