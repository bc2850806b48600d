from __future__ import annotations

import pytest
from helpers_operators import operator, step

from whorl.operators.operator import Shape
from whorl.schema import TEXT


@pytest.mark.parametrize("type", ["forward", "union"])
def test_rows_pass(type: str) -> None:
    assert step(type).shape is Shape.PASS
    assert operator(type).output(TEXT) is TEXT
