"""The average operator: over all that a key has had, or over windows of time.

A window is made of steps, one alone where it does not slide. Of each step there is one bucket, its number of values and their sum; a
window's average is that of its buckets together. A bucket is removed when no window that is not over needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Context as Digits
from decimal import Decimal
from typing import Any

from pydantic import Field, model_validator

from whorl.formats.conversions import EXACT, fitted
from whorl.operators.builtin.aggregate import END, START
from whorl.operators.builtin.amounts import number_reader, plus
from whorl.operators.builtin.by_key import OfColumn, OfOptions, Pairs, Reading
from whorl.operators.builtin.query_only import not_a_time
from whorl.operators.builtin.timeline import Timeline
from whorl.operators.expressions.types import MAX_PRECISION, bounded, is_decimal, precision_scale
from whorl.operators.fold import Fold
from whorl.operators.keyed import Context, KeyedOperator, milliseconds, moment
from whorl.operators.operator import Fault
from whorl.operators.record import Row
from whorl.schema import TEXT, UNKNOWN, Schema
from whorl.state.states import ValueState
from whorl.units import Duration

_MOST_STEPS = 1000
_SCALE = 4
"""Digits that an average of decimals has more than each of them, as in Spark."""
_OPEN = Digits(prec=MAX_PRECISION)
Divide = Callable[[Any, int], Any]


class RunningAverage(Reading, Fold):
    count_and_sum = ValueState(list)
    kept = "count_and_sum"
    fresh = True

    def __init__(self, read: Callable[[Row], Any], shaped: Callable[..., Row], divide: Divide) -> None:
        super().__init__(read, shaped)
        self._divide = divide

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        count, total = _with(before or (0, None), self._read(record))
        return [count, total], self._shaped(record, self._divide(total, count))


class WindowedAverage(Reading):
    buckets = ValueState(list)
    """[start of its step in ms, count, sum] of each, in order of time."""

    def __init__(
        self,
        read: Callable[[Row], Any],
        shaped: Callable[..., Row],
        divide: Divide,
        time: Timeline,
        window: int,
        step: int,
    ) -> None:
        """`window` and `step`: ms."""
        super().__init__(read, shaped)
        self._divide, self._time = divide, time
        self._window, self._step = window, step
        self.timers_by = time.clock

    def process(self, key: Any, record: Row, context: Context) -> None:
        before = self.buckets.get() or []
        at = self._time.of(record, context)
        step, complete = self._step_of(at), self._time.complete(max([at, *(start for start, _, _ in before)]), context)
        if step < self._first(complete):
            return
        buckets = self._added(before, step, self._read(record))
        if len(buckets) > len(before):
            context.timers.at(moment(step + self._window), self._time.clock)
        self.buckets.set(self._needed(buckets, complete))
        end = max(step, self._step_of(complete)) + self._step
        context.emit(self._row(record, buckets, end))

    def on_timer(self, key: Any, time: datetime, context: Context) -> None:
        buckets = self.buckets.get() or []
        needed = self._needed(buckets, milliseconds(time))
        if not needed:
            self.buckets.clear()
        elif len(needed) < len(buckets):
            self.buckets.set(needed)

    def _step_of(self, time: int) -> int:
        return time - time % self._step

    def _first(self, complete: int) -> int:
        """The first step that a window needs which is not over."""
        return self._step_of(complete) + self._step - self._window

    def _needed(self, buckets: list[list[Any]], complete: int) -> list[list[Any]]:
        first = self._first(complete)
        return [bucket for bucket in buckets if bucket[0] >= first]

    def _added(self, buckets: list[list[Any]], step: int, value: Any) -> list[list[Any]]:
        by_step = {start: (count, total) for start, count, total in buckets}
        by_step[step] = _with(by_step.get(step, (0, None)), value)
        return [[start, *by_step[start]] for start in sorted(by_step)]

    def _row(self, record: Row, buckets: list[list[Any]], end: int) -> Row:
        start, count, total = end - self._window, 0, None
        for step, its_count, its_sum in buckets:
            if start <= step < end:
                count, total = count + its_count, plus(total, its_sum)
        return self._shaped(record, self._divide(total, count), moment(start), moment(end))


class AverageOptions(OfOptions):
    window: Duration | None = Field(
        None,
        gt=0,
        description=f"over windows of this length, instead of all records; adds the columns `{START}` and `{END}`",
    )
    every: Duration | None = Field(
        None, gt=0, description="windows slide by steps of this length; left out: one begins where the last ends"
    )
    time: str | None = Field(None, description="the column of event time; left out: windows are of processing time")

    @model_validator(mode="after")
    def _steps(self) -> AverageOptions:
        for name in ("every", "time") if self.window is None else ():
            if getattr(self, name) is not None:
                raise ValueError(f"'{name}' is for a 'window'")
        if self.window_ms % self.step_ms:
            raise ValueError("'window' is not a multiple of 'every'")
        if self.window_ms // self.step_ms > _MOST_STEPS:
            raise ValueError(f"'window' has more than {_MOST_STEPS} steps of 'every'")
        return self

    @property
    def window_ms(self) -> int:
        return max(round((self.window or 0) * 1000), 1)

    @property
    def step_ms(self) -> int:
        return self.window_ms if self.every is None else max(round(self.every * 1000), 1)


class Average(OfColumn):
    type = "average"
    summary = (
        "The average of a column for each key, a row for each record: of all so far, or of the window that the record falls in; where "
        "windows slide, of the one that ends with its step. Nulls count for nothing. A window of event time is over when the watermark "
        "has passed it, or, where no source has a watermark, a newer record of the key; a record that comes later counts nowhere, and "
        "gives no row."
    )
    Options = AverageOptions

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        options, divide = self.options, _divider(self._average_type(schema))
        read, shaped = number_reader(self.of, schema == TEXT), self.shaped(schema)
        if options.window is None:
            return RunningAverage(read, shaped, divide)
        if self.stays_text(schema):
            shaped = _without_bounds(shaped)
        return WindowedAverage(read, shaped, divide, Timeline(options.time), options.window_ms, options.step_ms)

    def results(self, schema: Schema | None) -> Pairs:
        average = self.result(schema, self._average_type(schema))
        bounded = self.options.window and not self.stays_text(schema)
        return (*average, (START, "timestamp"), (END, "timestamp")) if bounded else average

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self.options.time is not None:
            yield from not_a_time(("time",), self.options.time, self.entering)

    def _average_type(self, schema: Schema | None) -> str:
        kind = self.kind(schema)
        if not is_decimal(kind):
            return kind if kind == UNKNOWN else "double"
        precision, scale = precision_scale(kind)
        return bounded(precision + _SCALE, scale + _SCALE)


def _without_bounds(shaped: Callable[..., Row]) -> Callable[..., Row]:
    return lambda record, average, start, end: shaped(record, average)


def _with(bucket: Any, value: Any) -> tuple[int, Any]:
    count, total = bucket
    return (count, total) if value is None else (count + 1, plus(total, value))


def _divider(kind: str) -> Divide:
    """From a sum and a count to an average of this type."""
    fit = fitted(*precision_scale(kind)) if is_decimal(kind) else None

    def divide(total: Any, count: int) -> Any:
        if not count:
            return None
        if total.__class__ is not Decimal:
            return total / count
        return fit(EXACT.divide(total, count)) if fit else _OPEN.divide(total, count)

    return divide
