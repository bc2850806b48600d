"""Operators with state by key, on Spark's own `transformWithState`: state is kept, checkpointed and rescaled by Spark.

Under each key Spark keeps a map of the same entries, byte for byte, that tasks keep in their changelog, and over it stands the same
`LpState`. So an operator does on both hosts the same, and what it keeps can go from one to the other. Spark's timers say when to look;
which timers there are is in the state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from whorl.errors import PipelineError
from whorl.operators.keyed import Emitted
from whorl.operators.keyed_step import KeyedStep, TimerMessage
from whorl.operators.record import Metadata
from whorl.query.schemas import struct_of
from whorl.schema import Schema
from whorl.sinks.kafka import key_maker
from whorl.state.backend import Entry, Meta
from whorl.state.codec import short
from whorl.state.partition import LpState
from whorl.state.timers import Kind, kind_of, timer_of
from whorl.state.times import UNKNOWN
from whorl.state.values import GONE

_META = Meta("spark", "", "")
_INPUT = "input"
_MODES: dict[str, Literal["EventTime", "ProcessingTime"]] = {"event": "EventTime", "processing": "ProcessingTime"}


def keyed_rows(
    frame: DataFrame, key: tuple[str, ...], make: Callable[[], KeyedStep], leaves: Schema, id: str, clock: Kind
) -> DataFrame:
    """The rows that the operator gives. `frame` is a stream without hidden columns; `clock`: the one that its timers go by."""
    struct = struct_of(leaves, id)
    processor = _Processor(make, key, struct, clock)
    return frame.groupBy(*key).transformWithState(processor, struct, "Update", _MODES[clock])


class KeyEntries:
    """A backend over Spark's map of the current key."""

    meta: Meta | None = None

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, key: bytes) -> bytes | None:
        return bytes(self._state.getValue((key,))[0]) if self._state.containsKey((key,)) else None

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[Entry]:
        entries = [(bytes(key[0]), bytes(value[0])) for key, value in self._state.iterator()]
        start = short(after) if after is not None else b""
        for key, value in sorted(entries, key=lambda entry: short(entry[0])):
            if key.startswith(prefix) and short(key) > start:
                yield key, value

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        for key, value in puts.items():
            if value is not None:
                self._state.updateValue((key,), (value,))
            elif self._state.containsKey((key,)):
                self._state.removeKey((key,))

    def count(self) -> int:
        return sum(1 for _ in self._state.iterator())

    def close(self) -> None:
        """Spark's own affair."""


class _Processor(StatefulProcessor):  # type: ignore[misc]
    """Made on the driver and sent to the workers; Spark opens it once in each task."""

    def __init__(self, make: Callable[[], KeyedStep], key: tuple[str, ...], struct: StructType, clock: Kind) -> None:
        self._make, self._key, self._names, self._clock = make, key, struct.names, clock

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._entries = handle.getMapState("entries", "entry binary", "value binary")
        self._key_bytes = key_maker(self._key)
        self._step = self._make()
        self._step.open()

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        named = dict(zip(self._key, key, strict=True))
        emitted: list[Emitted] = []
        with self._state(timerValues) as lp:
            message = TimerMessage(self._key_bytes(named), lp.clocks.clock)
            for row in rows:
                emitted += self._step.process(row.asDict(recursive=True), Metadata(message, message.key()))
                lp.keep()
                if lp.timers.overdue(self._clock, self._now(lp)):
                    self._fire(lp, self._now(lp), emitted)
        return map(self._row, emitted)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        emitted: list[Emitted] = []
        with self._state(timerValues) as lp:
            self._fire(lp, expiredTimerInfo.getExpiryTimeInMs(), emitted)
        return map(self._row, emitted)

    def close(self) -> None:
        self._step.close()

    @contextmanager
    def _state(self, times: Any) -> Iterator[LpState]:
        """The current key's, at the times of the batch; kept by Spark at the end."""
        lp = LpState(KeyEntries(self._entries), _META, (_INPUT,))
        now, watermark = times.getCurrentProcessingTimeInMs(), times.getCurrentWatermarkInMs()
        lp.clocks.tick(now if now > 0 else time.time_ns() // 1_000_000)
        if self._clock == "event" and watermark > 0:
            lp.clocks.move(_INPUT, watermark)
        self._step.enter(lp)
        yield lp
        self._step.leave(lp)
        self._set_timers(lp)
        lp.delta()
        lp.store(0)

    def _now(self, lp: LpState) -> int:
        return lp.clocks.clock if self._clock == "processing" else lp.clocks.watermark

    def _fire(self, lp: LpState, up_to: int, emitted: list[Emitted]) -> None:
        if up_to == UNKNOWN:
            return
        for timer in lp.timers.due(self._clock, up_to):
            emitted += self._step.fire(timer)
            lp.keep()

    def _set_timers(self, lp: LpState) -> None:
        for entry, change in lp.timers.changes.items():
            if kind_of(entry) != self._clock:
                raise PipelineError(
                    f"'{self._step.id}' sets a timer in {kind_of(entry)} time, and its query goes by {self._clock} time",
                    hint="a query whose source has a watermark goes by event time, any other by the clock; `host: tasks` has both",
                    code="host",
                )
            (self._handle.deleteTimer if change is GONE else self._handle.registerTimer)(timer_of(entry).time)

    def _row(self, emitted: Emitted) -> Row:
        _, fields, _ = emitted
        return Row(**{name: fields.get(name) for name in self._names})
