from __future__ import annotations

import pytest
from helpers_operators import operator, step

from whorl.errors import PipelineError
from whorl.schema import Schema

SCHEMA = Schema.of({"a": "long", "b": "string"})


def test_renames_in_place() -> None:
    assert list(step("rename", SCHEMA, columns={"a": "z"}).call({"a": 1, "b": 2})) == ["z", "b"]
    assert operator("rename", columns={"a": "z"}).output(SCHEMA) == Schema.of({"z": "long", "b": "string"})
    assert list(operator("rename", columns={"a": "z"}).columns()) == [(("columns", "a"), "a")]


def test_two_may_swap() -> None:
    assert step("rename", SCHEMA, columns={"a": "b", "b": "a"}).call({"a": 1, "b": 2}) == {"b": 1, "a": 2}


def test_a_name_that_is_taken() -> None:
    with pytest.raises(PipelineError, match="there is a column 'b' already"):
        step("rename", SCHEMA, columns={"a": "b"})
    with pytest.raises(ValueError, match="same new name"):
        operator("rename", columns={"a": "x", "b": "x"})
