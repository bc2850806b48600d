"""The aggregate operator: rows brought together by columns, and by windows of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field, model_validator

from whorl.operators.builtin.query_only import QueryOperator, late, not_a_time, replay_faults
from whorl.operators.native import Native, Query
from whorl.operators.operator import Fault, Options
from whorl.operators.sql import shape
from whorl.operators.sqltext import interval, quoted, text, told_apart
from whorl.operators.watermark import Watermark
from whorl.schema import Schema
from whorl.units import Duration

START, END = "window_start", "window_end"


class TimeWindow(Options):
    """Windows of one size, one after the other; with `slide` they overlap; with `gap` each ends when nothing comes for so long."""

    column: str = Field(description="the column of event time, a timestamp")
    size: Duration | None = Field(None, gt=0, description="how long a window is")
    slide: Duration | None = Field(None, gt=0, description="how far the next begins; left out: `size`")
    gap: Duration | None = Field(None, gt=0, description="instead of `size`: how long the silence that ends a session")

    @model_validator(mode="after")
    def _one_kind(self) -> TimeWindow:
        if (self.size is None) == (self.gap is None):
            raise ValueError("give either 'size' or 'gap'")
        if self.slide is not None and (self.size is None or self.slide > self.size):
            raise ValueError("'slide' goes with a 'size' that is at least as long")
        return self

    @property
    def sql(self) -> str:
        if self.gap is not None:
            return f"session_window({quoted(self.column)}, {text(interval(self.gap))})"
        lengths = [length for length in (self.size, self.slide) if length is not None]
        return f"window({', '.join([quoted(self.column), *(text(interval(length)) for length in lengths)])})"


class AggregateOptions(Options):
    by: tuple[str, ...] = Field((), description="the columns whose equal values go together; left out: all rows do")
    columns: dict[str, str] = Field(
        min_length=1, description="column to the SQL aggregate that it becomes, such as sum(amount)"
    )
    window: TimeWindow | None = Field(
        None, description=f"windows of time, {{column: at, size: 1m}}; adds the columns `{START}` and `{END}`"
    )
    watermark: Watermark | None = Field(
        None, description="how late a row may be, {column: at, delay: 10s}, where no source says so"
    )
    mode: Literal["", "append", "update"] = Field(
        "", description="append: a row leaves once, when it is final; update: each time it changes"
    )

    @model_validator(mode="after")
    def _names(self) -> AggregateOptions:
        names = [*self.by, *((START, END) if self.window else ()), *self.columns]
        if not told_apart(names):
            raise ValueError("two columns get the same name")
        return self


class Aggregate(QueryOperator):
    type = "aggregate"
    summary = "Brings rows together by columns and by windows of time: one row for each."
    Options = AggregateOptions

    def native(self, schema: Schema | None) -> Native | None:
        return Query(
            (self._sql(),),
            tables=(self.table,),
            watermark=late(self.options.watermark),
            mode=self.options.mode,
            aggregates=True,
            windowed=self.options.window is not None,
        )

    def output(self, schema: Schema | None) -> Schema | None:
        return shape(self._sql()).columns({self.table: schema})

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("by", index), name) for index, name in enumerate(self.options.by)]

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        for name, sql in self.options.columns.items():
            yield from replay_faults(("columns", name), sql)
        if self.options.window:
            yield from not_a_time(("window", "column"), self.options.window.column, self.entering)
        if self.options.watermark:
            yield from not_a_time(("watermark", "column"), self.options.watermark.column, self.entering)

    def _sql(self) -> str:
        groups = [quoted(name) for name in self.options.by]
        columns = list(groups)
        if self.options.window:
            window = self.options.window.sql
            groups.append(window)
            columns += [f"{window}.start AS {quoted(START)}", f"{window}.end AS {quoted(END)}"]
        # A line break ends a comment that an aggregate may have.
        columns += [f"{sql}\n AS {quoted(name)}" for name, sql in self.options.columns.items()]
        grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
        return f"SELECT {', '.join(columns)} FROM {quoted(self.table)}{grouped}"
