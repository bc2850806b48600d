from __future__ import annotations

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.errors import PipelineError
from whorl.schema import Schema

SCHEMA = Schema.of({"n": "double", "s": "string", "b": "boolean"})


def test_columns() -> None:
    made = step("fill", SCHEMA, columns={"n": 0, "s": "none"})
    filled = made.call({"n": None, "s": None, "b": None})
    assert filled == {"n": 0.0, "s": "none", "b": None}
    assert isinstance(filled["n"], float)
    assert made.call({"n": 5.0, "s": "x", "b": None}) == {"n": 5.0, "s": "x", "b": None}


def test_one_value_for_all_columns_that_it_fits() -> None:
    nothing = {"n": None, "s": None, "b": None}
    assert step("fill", SCHEMA, value=7).call(nothing) == {"n": 7.0, "s": None, "b": None}
    assert step("fill", SCHEMA, value="x").call(nothing) == {"n": None, "s": "x", "b": None}
    assert step("fill", SCHEMA, value=False).call(nothing) == {"n": None, "s": None, "b": False}
    assert step("fill", None, value=7).call(nothing) == {"n": 7, "s": 7, "b": 7}


def test_refusals() -> None:
    with pytest.raises(ValidationError, match="either"):
        operator("fill")
    with pytest.raises(PipelineError, match="cannot fill column 'b'"):
        step("fill", Schema.of({"b": "array<long>"}), columns={"b": "x"})
