"""An operator with state under test: records, time and crashes by hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from whorl.errors import UsageError
from whorl.operators.keyed import Emitted, KeyedOperator, milliseconds, moment
from whorl.operators.keyed_step import KeyedStep, TimerMessage
from whorl.operators.record import Metadata, Row
from whorl.sinks.kafka import key_bytes
from whorl.state.backend import MemoryBackend, Meta
from whorl.state.binding import declared
from whorl.state.bound import BoundMap
from whorl.state.partition import LpState
from whorl.state.times import UNKNOWN
from whorl.testing.clock import ManualClock
from whorl.units import parse_duration

_INPUT = "input"
_META = Meta("test", "test", "test")


class OperatorHarness:
    """Runs an operator on one logical partition, with the state that it has in a pipeline.

        harness = OperatorHarness(Alert)
        assert harness.send("a1", {"amount": 1200.0}) == [{"account": "a1", "spent": 1200.0}]
        harness.commit()
        harness.pass_time("10m")
        harness.crash()
        assert harness.state("a1", "spent") is None

    `make` gives a new operator: a crash needs one, since it loses all that is not in a state. Keys are text unless `key_of` makes
    something else of their bytes.
    """

    def __init__(
        self,
        make: Callable[[], KeyedOperator],
        id: str = "operator",
        key_of: Callable[[bytes], Any] = bytes.decode,
        outputs: Collection[str] = (),
    ) -> None:
        """`outputs`: the names that `emit(..., to=name)` may use; none where there is one output alone."""
        self.clock = ManualClock()
        self.emitted: list[Emitted] = []
        """All so far: output, row, and what it leaves with."""
        self._make, self._id, self._key_of, self._outputs = make, id, key_of, outputs
        self._changelog: list[tuple[bytes, bytes | None]] = []
        self._times: dict[str, Any] = {}
        self._since: list[tuple[int, Callable[[], None]]] = []
        self._committed = 0
        self._start()

    @property
    def rows(self) -> list[Row]:
        return [row for _, row, _ in self.emitted]

    # -- what happens -----------------------------------------------------------------------------------------------------------------

    def send(self, key: Any, row: Row, at: datetime | None = None) -> list[Row]:
        """A record; what the operator gives for it and for the timers that are due before it. `at`: its event time, up to which the
        watermark moves first. If the operator raises, nothing of the record is left."""
        message = TimerMessage(key_bytes(key), round(self.clock() * 1000) if at is None else milliseconds(at))
        return self._do(lambda: self._record(message, row, at))

    def pass_time(self, duration: str | float) -> list[Row]:
        """Processing time passes; what timers give that are due then."""
        self.clock.wait(parse_duration(duration) if isinstance(duration, str) else duration)
        return self._do(lambda: None)

    def watermark(self, time: datetime) -> list[Row]:
        """Event time is complete up to here; what timers give that are due then."""
        return self._do(lambda: self._move(time))

    def commit(self) -> None:
        """What was done since the last one survives a crash."""
        self._changelog += self._lp.delta()
        self._lp.store(len(self._changelog))
        self._times = self._lp.times()
        self._since, self._committed = [], len(self.emitted)

    def crash(self) -> None:
        """The process dies, and another one goes on with an empty disk: from the last commit, by the same records at the same times."""
        again, self._since = self._since, []
        del self.emitted[self._committed :]
        self._start()
        for now, action in again:
            self._do(action, now)

    # -- what is there ----------------------------------------------------------------------------------------------------------------

    def state(self, key: Any, name: str) -> Any:
        """What a state holds for this key: a value or None, a list, or a dict."""
        if name not in declared(type(self._operator)):
            raise UsageError(f"'{type(self._operator).__qualname__}' has no state '{name}'")
        held = getattr(self._operator, name)
        with self._step.at(key_bytes(key) or b""):
            return dict(held.items()) if isinstance(held, BoundMap) else held.get()

    def timers(self) -> list[tuple[Any, datetime]]:
        """(key, time) of all that are set, in event time first, each in the order they fire."""
        return [(self._key_of(timer.key), moment(timer.time)) for timer in self._lp.timers.pending()]

    # -- within -----------------------------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._lp = LpState(MemoryBackend(), _META, inputs=(_INPUT,))
        self._lp.absorb(self._changelog, len(self._changelog), current=True)
        if self._times:
            self._lp.set_times(self._times)
        self._operator = self._make()
        self._step = KeyedStep(self._operator, self._id, self._key_of, self._outputs)
        self._step.enter(self._lp)
        self._step.open()

    def _do(self, action: Callable[[], None], at: int | None = None) -> list[Row]:
        before, now = len(self.emitted), round(self.clock() * 1000) if at is None else at
        self._tick(now)
        action()
        self._since.append((now, action))
        return self.rows[before:]

    def _record(self, message: TimerMessage, row: Row, at: datetime | None) -> None:
        if at is not None:
            self._move(at)
        with self._whole():
            self.emitted += self._step.process(dict(row), Metadata(message, message.key()))

    def _move(self, time: datetime) -> None:
        if self._lp.clocks.move(_INPUT, milliseconds(time)):
            self._fire("event", self._lp.clocks.watermark)

    def _tick(self, now: int) -> None:
        self._lp.clocks.tick(now)
        self._fire("processing", self._lp.clocks.clock)

    def _fire(self, kind: Any, up_to: int) -> None:
        assert up_to != UNKNOWN
        for timer in self._lp.timers.due(kind, up_to):
            with self._whole():
                self.emitted += self._step.fire(timer)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        self._lp.begin()
        try:
            yield
        except BaseException:
            self._lp.undo()
            raise
        self._lp.keep()
