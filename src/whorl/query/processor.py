"""An operator with state as Spark's `transformWithState` calls it: with all rows that a batch has of a key, then with timers that are due.

Under each key Spark keeps the same entries, byte for byte, that tasks keep in their changelog, and over them stands the same `LpState`. So
an operator does on both hosts the same. Spark's timers say when to look; which timers there are is in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from whorl.operators.chain import StepFailed
from whorl.operators.keyed_step import TimerMessage
from whorl.operators.operator import OperatorType
from whorl.operators.record import Metadata, Row
from whorl.query.calls import Caller, Given, carried_by
from whorl.query.entries import META, KeyEntries
from whorl.query.failing import failed_text
from whorl.query.fitting import Fitting, plain_maps
from whorl.query.frames import CARRIED, EVENT, KEY, OFFSET, PARTITION, TOPIC
from whorl.schema import Schema
from whorl.state.codec import expiry
from whorl.state.partition import LpState
from whorl.state.timers import PREFIX as TIMERS
from whorl.state.timers import Kind, Timer, kind_of, timer_of
from whorl.state.times import UNKNOWN
from whorl.state.values import GONE

GROUP, NOW = "__whorl_group", "__whorl_now"
"""Of a row that comes: the key of state, and the time of the batch."""
MAPS = ("entries", "timers")
"""What Spark keeps for a key."""
_INPUT = "input"
_ALL = 1 << 62


@dataclass(frozen=True)
class KeyedWork:
    """What is to be done, as it is sent to the workers."""

    id: str
    operator: OperatorType
    enters: Schema
    action: str
    """What becomes of a record that fails."""
    inputs: tuple[str, ...]
    """Names of those that it reads."""
    given: StructType
    """The columns that come."""
    made: StructType
    """Those that leave."""
    clock: Kind | None
    """The one that Spark wakes it by."""
    in_event_time: bool
    """Whether there is a watermark at all."""
    fires: bool
    """Whether it does anything when a timer is due."""


class Processor(StatefulProcessor):  # type: ignore[misc]
    """Made on the driver, where Spark also asks it for its states, and sent to the workers, where it serves one task of one batch."""

    def __init__(self, work: KeyedWork) -> None:
        self._work = work

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._values, self._timers = (handle.getMapState(name, "entry binary", "value binary") for name in MAPS)

    @cached_property
    def _caller(self) -> KeyedCaller:
        return KeyedCaller(self._work)

    @cached_property
    def _taken_apart(self) -> Callable[[Any], dict[str, Any]]:
        """From Spark's row to columns, in the types that rows have in tasks."""
        names, maps = self._work.given.names, plain_maps(self._work.given)

        def columns(row: Any) -> dict[str, Any]:
            named = dict(zip(names, row, strict=True))
            for name, plain in maps.items():
                named[name] = plain(named[name])
            return named

        return columns

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """One entry of what tasks have kept. Spark must be told of its timers, and of when it ends."""
        work, entry, value = self._work, bytes(initialState["entry"]), bytes(initialState["value"])
        KeyEntries(self._values, self._timers).write({entry: value}, META)
        if entry.startswith(TIMERS):
            self._set_timer(entry, self._handle.registerTimer)
        elif work.clock and (ends := expiry(value)) is not None and ends[1] == (work.clock == "event"):
            self._handle.registerTimer(ends[0])

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[SparkRow]:
        """In the order of their records, which the shuffle has lost."""
        ordered = sorted(map(self._taken_apart, rows), key=_place)
        with self._state(timerValues, ordered[0][NOW]) as lp:
            self._caller.fire_due()
            made = self._caller.all([_given(columns) for columns in ordered])
            self._look_again(lp)
        return map(self._row, made)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[SparkRow]:
        with self._state(timerValues, 0) as lp:
            lp.sweep(_ALL)
            self._caller.fire_due()
            self._look_again(lp)
        return map(self._row, self._caller.taken())

    def close(self) -> None:
        if "_caller" in vars(self):
            self._caller.close()

    @contextmanager
    def _state(self, times: Any, now: int) -> Iterator[LpState]:
        """The current key's, at the times of the batch; kept by Spark at the end. `now`: where Spark does not tell the time."""
        lp = LpState(KeyEntries(self._values, self._timers), META, (_INPUT,))
        lp.clocks.tick(max(times.getCurrentProcessingTimeInMs(), now))
        if times.getCurrentWatermarkInMs() > 0:
            lp.clocks.move(_INPUT, times.getCurrentWatermarkInMs())
        with self._caller.within(lp):
            yield lp
        lp.delta()
        lp.store(0)

    def _look_again(self, lp: LpState) -> None:
        """Has Spark call when a timer is due, and when what was kept for a time has ended."""
        work, handle = self._work, self._handle
        if work.clock is None or not work.fires:
            lp.timers.restart()  # they would do nothing
        for entry, change in lp.timers.changes.items():
            self._set_timer(entry, handle.deleteTimer if change is GONE else handle.registerTimer)
        ends = lp.last_end(work.clock == "event") if work.clock else None
        if ends is not None:
            handle.registerTimer(ends)

    def _set_timer(self, entry: bytes, change: Callable[[int], None]) -> None:
        work, kind = self._work, kind_of(entry)
        if kind == work.clock:
            # Spark calls when its time is behind that of the timer, tasks as soon as it is there.
            change(timer_of(entry).time - 1)
        elif work.fires and (kind == "processing" or work.in_event_time):
            raise RuntimeError(failed_text(work.id, "", _two_clocks(kind, work.clock)))

    def _row(self, made: Row) -> SparkRow:
        return SparkRow(**{name: made.get(name) for name in self._work.made.names})


class KeyedCaller(Caller):
    """A record or a timer leaves all that it emits and writes, or, where it fails, nothing."""

    def __init__(self, work: KeyedWork) -> None:
        super().__init__(work.id, work.operator, work.enters, work.action, work.inputs)
        self._work = work
        self._fitting = Fitting(work.made)
        self._step = self._chain.keyed[work.id]
        self._lp: LpState

    @contextmanager
    def within(self, lp: LpState) -> Iterator[None]:
        self._lp = lp
        self._step.enter(lp)
        yield
        self._step.leave(lp)

    def fire_due(self) -> None:
        now = self._now
        if self._work.fires and now != UNKNOWN and self._work.clock is not None:
            for timer in self._lp.timers.due(self._work.clock, now):
                self._fire(timer)

    def _tried(self, rows: list[Given]) -> BaseException | None:
        """The watermark goes as far as the key's own records say, before each: so what they give does not depend on where a batch ends."""
        self._move([carried[EVENT] for _, carried in rows if carried.get(EVENT) is not None])
        failed = self._whole(lambda: super(KeyedCaller, self)._tried(rows))
        if self._work.clock is not None and self._lp.timers.overdue(self._work.clock, self._now):
            self.fire_due()
        return failed

    def _move(self, times: Sequence[int]) -> None:
        if times and self._lp.clocks.move(_INPUT, max(times)):
            self.fire_due()

    @property
    def _now(self) -> int:
        clocks = self._lp.clocks
        return clocks.watermark if self._work.clock == "event" else clocks.clock

    def _fire(self, timer: Timer) -> None:
        failed = self._whole(lambda: self._fired(timer))
        if failed is not None:
            carried = carried_by(Metadata(TimerMessage.of(timer), timer.key))
            self._made.append(self.failure({**carried, KEY: timer.key}, failed))

    def _fired(self, timer: Timer) -> StepFailed | None:
        try:
            self._chain.fire(timer)
        except StepFailed as failed:
            return failed
        return None

    def _whole(self, attempt: Callable[[], BaseException | None]) -> BaseException | None:
        mark = len(self._made)
        failed = attempt() or self._fitting.misfit(self._made[mark:])
        if failed is None:
            self._lp.keep()
        else:
            del self._made[mark:]
            self._lp.undo()
        return failed


def _given(columns: dict[str, Any]) -> Given:
    """The row, and what it carries: the key is from here on that of the state."""
    carried = {name: columns.pop(name) for name in CARRIED if name in columns}
    group = columns.pop(GROUP)
    carried[KEY] = None if group is None else bytes(group)
    del columns[NOW]
    return columns, carried


def _place(columns: dict[str, Any]) -> tuple[Any, ...]:
    """Rows of the same record come in their order, and stay in it."""
    return (columns.get(TOPIC) or "", columns.get(PARTITION) or 0, columns.get(OFFSET) or 0)


def _two_clocks(kind: Kind, clock: Kind | None) -> str:
    goes = f"its query goes by {clock} time" if clock else "its query has no timers"
    return f"it sets a timer in {kind} time, and {goes}: take `host: query` away, or say with `timers_by` which clock it is"
