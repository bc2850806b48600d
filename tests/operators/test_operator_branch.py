from __future__ import annotations

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.operators.expressions import ExpressionError
from whorl.operators.operator import Shape
from whorl.schema import Schema

SCHEMA = Schema.of({"n": "long"})
OUTPUTS = [{"name": "large", "where": "n > 100 -- really"}, {"name": "it's", "where": "n > 10"}]


def test_the_first_true_condition_takes_the_row() -> None:
    made = step("branch", SCHEMA, outputs=OUTPUTS)
    assert made.shape is Shape.BRANCH
    assert [made.call({"n": each}) for each in (500, 50, 5, None)] == ["large", "it's", None, None]


def test_default() -> None:
    made = step("branch", SCHEMA, outputs=OUTPUTS, default="rest")
    assert [made.call({"n": each}) for each in (5, None)] == ["rest", "rest"]


def test_for_graph_and_check() -> None:
    made = operator("branch", outputs=OUTPUTS, default="rest")
    assert made.outputs() == ("large", "it's", "rest")
    assert (("outputs", 1, "where"), "n > 10") in list(made.expressions())
    assert made.output(SCHEMA) == SCHEMA


def test_refusals() -> None:
    with pytest.raises(ValidationError, match="same name"):
        operator("branch", outputs=[OUTPUTS[0], OUTPUTS[0]])
    with pytest.raises(ExpressionError, match="no column 'm' in 'm > 1'"):
        step("branch", SCHEMA, outputs=[{"name": "a", "where": "m > 1"}])
