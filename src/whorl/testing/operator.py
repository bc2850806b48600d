"""An operator with state under test: records, time and crashes by hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self

from whorl.errors import UsageError
from whorl.operators.batch_step import BatchStep
from whorl.operators.bounded_step import BoundedStep
from whorl.operators.builtin.python import kind_of
from whorl.operators.chain import Bulk, StepFailed
from whorl.operators.keyed import BatchOperator, Emitted, KeyedOperator, milliseconds, moment, table_of
from whorl.operators.keyed_step import KeyedStep, TimerMessage
from whorl.operators.operator import Upstream
from whorl.operators.record import Metadata, Row
from whorl.operators.registry import OPERATORS
from whorl.schema import Schema
from whorl.sinks.kafka import key_bytes, key_maker
from whorl.state.backend import MemoryBackend, Meta
from whorl.state.binding import declared
from whorl.state.bound import BoundMap
from whorl.state.bounds import Limits
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
        tables: Collection[str] = (),
        max_keys: int | None = None,
        max_bytes: int | None = None,
    ) -> None:
        """`outputs`: the names that `emit(..., to=name)` may use; none where there is one output alone. `tables`: those that it looks up,
        whose rows `put` gives. `max_keys`, `max_bytes`: as in the pipeline."""
        limits = Limits(max_keys, max_bytes)

        def step() -> KeyedStep:
            operator = make()
            if limits and isinstance(operator, BatchOperator):
                raise UsageError("'max_keys' and 'max_bytes' are not for a BatchOperator", hint="take them away")
            if limits:
                return BoundedStep(operator, id, key_of, limits, outputs, tables=tables)
            return kind_of(operator)(operator, id, key_of, outputs, tables=tables)

        self._set_up(step)

    @classmethod
    def of(cls, type: str, schema: Schema | Mapping[str, str] | None = None, **options: Any) -> Self:
        """The operator of a pipeline file, by its type and options: `OperatorHarness.of("sum", key="account", of="amount")`. `schema`:
        the columns of the rows, where they are declared. What Python does not take as a name has an underscore: `as_="total"`."""
        if type not in OPERATORS:
            raise UsageError(f"there is no operator of type '{type}'", hint=f"known: {', '.join(OPERATORS)}")
        kind = OPERATORS[type]
        columns = schema if isinstance(schema, Schema | None) else Schema.of(schema)
        operator = kind(kind.Options.model_validate(options)).reading([Upstream(_INPUT, columns)])
        keyed, harness = operator.step(columns).keyed, cls.__new__(cls)
        if keyed is None:
            raise UsageError(f"an operator of type '{type}' keeps no state", hint="test it with PipelineHarness")
        harness._set_up(lambda: keyed("operator"), operator.keyed_by() or ())
        return harness

    def _set_up(self, make: Callable[[], KeyedStep], columns: Sequence[str] = ()) -> None:
        """`columns`: those that a record's key is made of."""
        self.clock = ManualClock()
        self.emitted: list[Emitted] = []
        """All so far: output, row, and what it leaves with."""
        self._make, self._own_key = make, key_maker(columns) if columns else None
        self._changelog: list[tuple[bytes, bytes | None]] = []
        self._times: dict[str, Any] = {}
        self._since: list[tuple[int, Callable[[], None]]] = []
        self._committed = 0
        self._start()

    @property
    def rows(self) -> list[Row]:
        return [row for _, row, _ in self.emitted]

    # -- what happens -----------------------------------------------------------------------------------------------------------------

    def send(self, key: Any, row: Row, at: datetime | None = None, input: str = "") -> list[Row]:
        """A record; what the operator gives for it and for the timers that are due before it. `at`: its event time, up to which the
        watermark moves first. `input`: which of several it comes from. `key` None: made of the row's own columns, where the operator has a
        key of columns. If the operator raises, nothing of the record is left."""
        message = self._message(key, row, at)
        return self._do(lambda: self._record(message, row, at, input))

    def send_many(self, records: Iterable[tuple[Any, Row]]) -> list[Row]:
        """Records, each with its key: one batch for a `BatchOperator`, of which nothing is left if it raises; to others they come one by
        one."""
        if not isinstance(self._step, BatchStep):
            return [row for key, given in records for row in self.send(key, given)]
        messages = [(self._message(key, row), row) for key, row in records]
        return self._do(lambda: self._batch(messages))

    def put(self, table: str, key: Any, row: Row | None) -> None:
        """The row of a table from now on; None deletes it."""
        self._do(lambda: self._put(table, key_bytes(key) or b"", row))

    def pass_time(self, duration: str | float) -> list[Row]:
        """Processing time passes; what timers give that are due then."""
        self.clock.wait(parse_duration(duration) if isinstance(duration, str) else duration)
        return self._do(lambda: None)

    def watermark(self, time: datetime) -> list[Row]:
        """Event time is complete up to here; what timers give that are due then."""
        return self._do(lambda: self._move(time))

    def commit(self) -> None:
        """What was done since the last one survives a crash."""
        self._changelog += self._lp.delta().items()
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
        if name not in self._declared:
            raise UsageError(f"'{type(self._step.operator).__qualname__}' has no state '{name}'")
        held = getattr(self._step.operator, name)
        with self._step.at(key_bytes(key) or b""):
            return dict(held.items()) if isinstance(held, BoundMap) else held.get()

    def states(self, key: Any) -> dict[str, Any]:
        """All of this key, by name."""
        return {name: self.state(key, name) for name in self._declared}

    def timers(self) -> list[tuple[Any, datetime]]:
        """(key, time) of all that are set, in event time first, each in the order they fire."""
        return [(self._step.key_of(timer.key), moment(timer.time)) for timer in self._lp.timers.pending()]

    # -- within -----------------------------------------------------------------------------------------------------------------------

    @property
    def _declared(self) -> Collection[str]:
        return declared(type(self._step.operator))

    def _start(self) -> None:
        self._lp = LpState(MemoryBackend(), _META, inputs=(_INPUT,))
        self._lp.absorb(self._changelog, len(self._changelog), current=True)
        if self._times:
            self._lp.set_times(self._times)
        self._step = self._make()
        self._step.enter(self._lp)
        self._step.open()

    def _do(self, action: Callable[[], None], at: int | None = None) -> list[Row]:
        before, now = len(self.emitted), round(self.clock() * 1000) if at is None else at
        self._tick(now)
        action()
        self._since.append((now, action))
        return self.rows[before:]

    def _record(self, message: TimerMessage, row: Row, at: datetime | None, input: str) -> None:
        if at is not None:
            self._move(at)
        if isinstance(self._step, BatchStep):
            return self._batch([(message, row)])
        with self._whole():
            self.emitted += self._step.process_from(dict(row), Metadata(message, message.key()), input)
        watermark = self._lp.clocks.watermark
        if self._lp.timers.overdue("event", watermark):
            self._fire("event", watermark)

    def _batch(self, messages: Sequence[tuple[TimerMessage, Row]]) -> None:
        """As a chain of operators gives it one."""
        assert isinstance(self._step, BatchStep)
        made: list[Emitted] = []
        bulk = Bulk(self._step.id, self._step.process_many)
        bulk.next = lambda row, metadata: made.append(("", row, metadata))
        for message, row in messages:
            bulk.push(dict(row), Metadata(message, message.key()))
        with self._whole():
            try:
                bulk.flush()
            except StepFailed as failed:
                raise failed.cause from None
        self.emitted += made

    def _message(self, key: Any, row: Row, at: datetime | None = None) -> TimerMessage:
        made = self._own_key(row) if self._own_key and key is None else key_bytes(key)
        return TimerMessage(made, round(self.clock() * 1000) if at is None else milliseconds(at))

    def _put(self, name: str, key: bytes, row: Row | None) -> None:
        with self._whole():
            if row is None:
                table_of(self._lp, name).delete(key)
            else:
                table_of(self._lp, name).put(key, dict(row))

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
