from __future__ import annotations

import pyarrow as pa
import pytest
from helpers_operators import operator
from pydantic import ValidationError

from whorl.operators.native import Sort
from whorl.query.sorting import _sorted
from whorl.schema import Schema

SCHEMA = Schema.of({"at": "timestamp", "amount": "double"})


def test_what_it_is_to_spark() -> None:
    made = operator("sort", by=["at", "amount desc"])
    assert made.native(SCHEMA) == Sort((("at", False), ("amount", True)))
    assert list(made.columns()) == [(("by", 0), "at"), (("by", 1), "amount")]
    assert not made.in_tasks
    with pytest.raises(ValidationError, match="named twice"):
        operator("sort", by=["at", "at desc"])


def test_a_partition_in_order_with_all_that_rows_carry() -> None:
    rows = [(2, 1.0, "a"), (1, None, "b"), (1, 5.0, "c"), (2, 3.0, "d"), (None, 9.0, "e")]
    columns = ("at", "amount", "__whorl_key")
    batches = [pa.RecordBatch.from_pylist([dict(zip(columns, row, strict=True))]) for row in rows[:1]]
    batches.append(pa.RecordBatch.from_pylist([dict(zip(columns, row, strict=True)) for row in rows[1:]]))
    made = [row for batch in _sorted((("at", False), ("amount", True)), batches) for row in batch.to_pylist()]
    assert [row["__whorl_key"] for row in made] == list("cbdae")
    assert list(_sorted((("at", False),), [])) == []
