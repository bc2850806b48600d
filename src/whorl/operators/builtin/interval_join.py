"""Rows of two streams whose times are near each other, by key: what a join of streams is in tasks.

A row waits for partners until the watermark has passed the last moment at which one could come. Rows wait in buckets of time as wide as
the interval, so that all that may belong to a row are in three of them, and each is stored by itself: a row costs what it meets.
Buckets and watermarks go by the millisecond, whether two rows are near each other by the microsecond, as Spark tells it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from whorl.operators.builtin.timeline import moment_in
from whorl.operators.keyed import Context, KeyedOperator, milliseconds, moment
from whorl.operators.record import Row
from whorl.schema import Schema
from whorl.state.states import MapState

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_OUTER = {"left": (0,), "right": (1,), "full": (0, 1)}


class SideBySide:
    """The row that two rows make. The columns that both have are those of the left; where there is no left row, of the right."""

    def __init__(self, shared: Sequence[str], left: Schema | None, right: Schema | None) -> None:
        self._shared = tuple(shared)
        self._left = left.names if left else ()
        self._own = None if right is None else [name for name in right.names if name not in shared]

    def __call__(self, left: Row | None, right: Row | None) -> Row:
        other = right or {}
        if left is None:
            left = {**dict.fromkeys(self._left), **{name: other.get(name) for name in self._shared}}
        if self._own is None:
            return {**left, **{name: value for name, value in other.items() if name not in self._shared}}
        return {**left, **{name: other.get(name) for name in self._own}}


class IntervalJoin(KeyedOperator):
    """A side is 0, the left, or 1. A place is the side, the bucket and a number: where a row waits."""

    rows = MapState(str, list)
    """[time, row] by place."""
    counts = MapState(str, int)
    """How many places of a bucket were given away."""
    alone = MapState(str, list)
    """By side and the time when they leave: places of rows that leave also if they meet none, and have met none yet."""

    def __init__(
        self, inputs: Sequence[str], times: Sequence[str], within: float, kind: str, beside: SideBySide
    ) -> None:
        """`inputs`: the names of both sides. `times`: their columns of time. `within`: seconds."""
        self._sides = {name: side for side, name in enumerate(inputs)}
        self._times, self._kind, self._beside = times, kind, beside
        self._within = round(within * 1_000_000)
        self._width = _ceiled(self._within)
        self._outer = _OUTER.get(kind, ())

    def process(self, key: Any, record: Row, context: Context) -> None:
        side = self._sides[context.input]
        time = (moment_in(record, self._times[side]) - _EPOCH) // _MICROSECOND
        watermark = context.watermark
        if watermark is not None and _ceiled(time) < milliseconds(watermark):
            return
        partners = list(self._near(1 - side, time))
        if self._kind == "semi":
            self._once(side, time, record, partners, context)
            return
        for place, at, other in partners:
            context.emit(self._beside(record, other) if side == 0 else self._beside(other, record))
            self._met(1 - side, place, at)
        self._wait(side, time, record, not partners and side in self._outer, context)

    def on_timer(self, key: Any, time: datetime, context: Context) -> None:
        due = milliseconds(time)
        for side in self._outer:
            for place in self.alone.get(f"{side}@{due}") or ():
                _, row = self.rows[place]
                context.emit(self._beside(row, None) if side == 0 else self._beside(None, row))
            self.alone.remove(f"{side}@{due}")
        if due % self._width == 0:
            self._empty(f"0:{due // self._width - 2}")
            self._empty(f"1:{due // self._width - 2}")

    def _once(self, side: int, time: int, record: Row, partners: list[tuple[str, int, Row]], context: Context) -> None:
        """Of a semi join: rows of the left leave with their first partner, and need wait no longer."""
        if side == 0 and partners:
            context.emit(record)
            return
        for place, _, left in partners:
            context.emit(left)
            self.rows.remove(place)
        self._wait(side, time, record, False, context)

    def _near(self, side: int, time: int) -> Iterator[tuple[str, int, Row]]:
        """Place, time and row of those on a side that belong to a row of this time."""
        middle = _ceiled(time) // self._width
        for bucket in (f"{side}:{middle - 1}", f"{side}:{middle}", f"{side}:{middle + 1}"):
            for number in range(self.counts.get(bucket) or 0):
                place = f"{bucket}:{number}"
                at, row = self.rows.get(place) or (None, None)
                if at is not None and row is not None and abs(at - time) <= self._within:
                    yield place, at, row

    def _wait(self, side: int, time: int, record: Row, alone: bool, context: Context) -> None:
        number = _ceiled(time) // self._width
        bucket = f"{side}:{number}"
        count = self.counts.get(bucket) or 0
        place = f"{bucket}:{count}"
        self.rows[place] = [time, record]
        self.counts[bucket] = count + 1
        if not count:  # the last that could meet a row of the bucket has come when the second after it begins
            context.timers.at(moment((number + 2) * self._width))
        if alone:
            leaves = self._leaves(time)
            self.alone[f"{side}@{leaves}"] = [*(self.alone.get(f"{side}@{leaves}") or ()), place]
            context.timers.at(moment(leaves))

    def _met(self, side: int, place: str, time: int) -> None:
        if side not in self._outer:
            return
        name = f"{side}@{self._leaves(time)}"
        waiting = self.alone.get(name) or []
        if place in waiting:
            self.alone[name] = [each for each in waiting if each != place]

    def _leaves(self, time: int) -> int:
        """When no partner can come any more, in ms."""
        return _ceiled(time) + self._width + 1

    def _empty(self, bucket: str) -> None:
        for number in range(self.counts.get(bucket) or 0):
            self.rows.remove(f"{bucket}:{number}")
        self.counts.remove(bucket)


def _ceiled(microseconds: int) -> int:
    """In ms."""
    return -(-microseconds // 1000)
