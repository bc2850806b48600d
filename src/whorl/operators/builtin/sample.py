"""The sample operator: some of the rows, and when they are read again the same ones."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from whorl.operators.builtin.expression import condition
from whorl.operators.native import Native, Where
from whorl.operators.operator import Columns, OperatorType, Options, Shape, Step
from whorl.operators.sqltext import quoted, text
from whorl.schema import Schema

_DIGITS = 12


class SampleOptions(Options):
    fraction: float = Field(gt=0, le=1, description="the share of all values of `by` whose rows pass")
    by: Columns = Field(
        min_length=1,
        description="the column or columns whose hash decides: all rows with the same values there pass, or none",
    )
    seed: str = Field("", description="another text gives another sample")


class Sample(OperatorType):
    type = "sample"
    summary = (
        "Passes the rows of a share of keys, chosen by their hash: the same ones on every machine, on both hosts, and when a batch is "
        "repeated."
    )
    Options = SampleOptions
    keeps_record = True

    def step(self, schema: Schema | None) -> Step:
        return Step(Shape.FILTER, condition(self._sql(), schema))

    def native(self, schema: Schema | None) -> Native | None:
        return Where(self._sql())

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("by", index), name) for index, name in enumerate(self.options.by)]

    def _sql(self) -> str:
        """MD5 in hexadecimal has the order of the numbers that it stands for."""
        parts = [f"coalesce(CAST({quoted(name)} AS STRING), '')" for name in self.options.by]
        hashed = f"md5(CAST(concat_ws('|', {', '.join([text(self.options.seed), *parts])}) AS BINARY))"
        share = round(self.options.fraction * 16**_DIGITS)
        return "true" if share == 16**_DIGITS else f"{hashed} < '{share:0{_DIGITS}x}'"
