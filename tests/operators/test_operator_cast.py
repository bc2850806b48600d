from __future__ import annotations

from datetime import UTC, datetime

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.schema import Schema

SCHEMA = Schema.of({"n": "string", "at": "string", "other": "boolean"})


def test_converts() -> None:
    made = step("cast", SCHEMA, columns={"n": "bigint", "at": "timestamp"})
    assert made.call({"n": "5", "at": "2024-01-01", "other": True}) == {
        "n": 5,
        "at": datetime(2024, 1, 1, tzinfo=UTC),
        "other": True,
    }
    assert made.call({"n": None, "at": None, "other": None}) == {"n": None, "at": None, "other": None}


def test_what_does_not_fit_fails_the_record() -> None:
    with pytest.raises(ValueError, match="'x' is not a long"):
        step("cast", SCHEMA, columns={"n": "long"}).call({"n": "x"})


def test_undeclared_columns() -> None:
    made = step("cast", None, columns={"n": "double"})
    assert [made.call({"n": each})["n"] for each in ("1.5", 2, None)] == [1.5, 2.0, None]


def test_what_leaves() -> None:
    assert operator("cast", columns={"n": "integer"}).output(SCHEMA) == Schema.of(
        {"n": "int", "at": "string", "other": "boolean"}
    )
    with pytest.raises(ValidationError, match="'nonsense' is not a type"):
        operator("cast", columns={"n": "nonsense"})
