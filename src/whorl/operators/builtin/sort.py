"""The sort operator: the rows of a batch in order."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import Field, field_validator

from whorl.operators.builtin.query_only import QueryOperator
from whorl.operators.native import Native, Sort
from whorl.operators.operator import Columns, Options
from whorl.schema import Schema

_ORDER = re.compile(r"(.+?)\s+(asc|desc)$", re.IGNORECASE)


def _parsed(written: str) -> tuple[str, bool]:
    """(column, whether the largest comes first)."""
    match = _ORDER.match(written)
    return (match[1], match[2].lower() == "desc") if match else (written, False)


class SortOptions(Options):
    by: Columns = Field(min_length=1, description="the column or columns; `amount desc`: the largest first; nulls last")

    @field_validator("by")
    @classmethod
    def _once(cls, by: tuple[str, ...]) -> tuple[str, ...]:
        names = [_parsed(each)[0] for each in by]
        if len(set(names)) < len(names):
            raise ValueError("a column is named twice")
        return by


class SortRows(QueryOperator):
    type = "sort"
    summary = (
        "Brings the rows of each batch into order before they are written. A stream has no end, so no order holds beyond a batch; each "
        "partition of a batch is sorted for itself, as it is written for itself."
    )
    Options = SortOptions
    keeps_record = True

    def native(self, schema: Schema | None) -> Native | None:
        return Sort(tuple(_parsed(each) for each in self.options.by))

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("by", index), _parsed(each)[0]) for index, each in enumerate(self.options.by)]
