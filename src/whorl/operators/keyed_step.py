"""What a host runs of an operator with state: in one logical partition at a time, one record or timer after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import TypeAdapter, ValidationError

from whorl.operators.keyed import Context, Emitted, KeyedOperator, migrates, moment
from whorl.operators.record import Headers, Metadata, Row
from whorl.state.binding import Binding
from whorl.state.fitting import Versions
from whorl.state.partition import LpState
from whorl.state.states import Lifetime, TtlTime
from whorl.state.table import Table
from whorl.state.timers import Timer
from whorl.units import parse_duration

_Method = Callable[..., object]
"""Of a user's, which should return nothing, and may all the same."""


class KeyedStep:
    """What a host runs of one operator: `enter` says in which logical partition, then records and timers of that one."""

    def __init__(
        self,
        operator: KeyedOperator,
        id: str,
        key_of: Callable[[bytes], Any],
        outputs: Collection[str] = (),
        lifetime: Lifetime | None = None,
        tables: Collection[str] = (),
    ) -> None:
        """`lifetime`: of those states that declare none. `tables`: those it may look into."""
        self.id = id
        self.operator, self.key_of = operator, key_of
        self._process: _Method = operator.process
        self._on_timer: _Method = operator.on_timer
        self._on_superstep_end: _Method = operator.on_superstep_end
        self._typed = None if operator.record_type is None else _typed(operator.record_type)
        migrate = operator.migrate if migrates(type(operator)) else None
        self._binding = Binding(operator, id, lifetime, Versions(operator.version, migrate, key_of))
        self._scope, self._context = self._binding.scope, self._made_context(id, outputs, tables)
        self._tables: dict[LpState, tuple[Table, ...]] = {}

    def _made_context(self, id: str, outputs: Collection[str], tables: Collection[str]) -> Context:
        return Context(id, outputs, tables, parse_duration)

    @property
    def keeps_for_a_time(self) -> bool:
        """Whether anything it keeps expires."""
        return bool(self.expires_by)

    @property
    def expires_by(self) -> frozenset[TtlTime]:
        """The clocks by which anything it keeps ends."""
        return self._binding.expires_by

    def changed(self, lp: LpState) -> Iterator[tuple[bytes, Row]]:
        """Each key of which this transaction changes anything, with what its states hold now, by name, those that are no maps; not to be
        changed."""
        tables = self._tables.get(lp, ())
        named = [(name, table) for name, table in zip(self._binding.names, tables, strict=False) if name]
        if len(tables) == len(named) == 1:  # as a rule
            name, table = named[0]
            for key, value in table.changed_values():
                yield key, {} if value is None else {name: value}
            return
        for key in dict.fromkeys(key for table in tables for key in table.changed()):
            yield key, {name: value for name, table in named if (value := table.peek(key)) is not None}

    def open(self) -> None:
        self.operator.open(self._context)

    def close(self) -> None:
        self.operator.close()

    def enter(self, lp: LpState) -> None:
        if lp not in self._tables:
            self._tables[lp] = self._binding.tables(lp)
        self._scope.tables = self._tables[lp]
        self._context._lp = lp

    def leave(self, lp: LpState) -> None:
        """It will not be entered again."""
        self._tables.pop(lp, None)

    def process_from(self, row: Row, metadata: Metadata, input: str) -> list[Emitted]:
        """As `process`, of a record that came from one of several inputs."""
        self._context.input = input
        return self.process(row, metadata)

    def process(self, row: Row, metadata: Metadata) -> list[Emitted]:
        """One record. What it wrote is kept or undone by the host, together with what other operators did with it."""
        key = metadata.key
        if key is None:
            raise no_key()
        context = self._context
        context.metadata, context._emitted = metadata, []
        self._scope.key = context._key = key
        try:
            record = row if self._typed is None else self._typed(row)
            returned = self._process(self.key_of(key), record, context)
        finally:
            self._scope.key = context._key = None
        if returned is not None:
            raise _not_emitted("process", returned)
        return context._emitted

    def fire(self, timer: Timer) -> list[Emitted]:
        """One timer that was taken."""
        message = TimerMessage.of(timer)
        context = self._context
        context.input = ""
        context.metadata, context._emitted = Metadata(message, timer.key), []
        with self.at(timer.key):
            returned = self._on_timer(self.key_of(timer.key), moment(timer.time), context)
        if returned is not None:
            raise _not_emitted("on_timer", returned)
        return context._emitted

    def begin_superstep(self, number: int, aggregated: Mapping[str, Any]) -> None:
        """`aggregated`: over all logical partitions, in the one before."""
        context = self._context
        context.superstep, context._aggregated, context._aggregates = number, aggregated, {}
        context._aggregators = self.operator.aggregators

    @property
    def aggregates(self) -> dict[str, Any]:
        """What was aggregated since the superstep began."""
        return self._context._aggregates

    @aggregates.setter
    def aggregates(self, values: dict[str, Any]) -> None:
        self._context._aggregates = values

    def end_superstep(self) -> list[Emitted]:
        """What it emits."""
        context = self._context
        context.input = ""
        context.metadata, context._emitted = Metadata(TimerMessage(None, context._lp.clocks.clock), None), []
        returned = self._on_superstep_end(context)
        if returned is not None:
            raise _not_emitted("on_superstep_end", returned)
        return context._emitted

    @contextmanager
    def at(self, key: bytes) -> Iterator[None]:
        """States and timers are those of this key inside."""
        self._scope.key = self._context._key = key
        try:
            yield
        finally:
            self._scope.key = self._context._key = None


def _typed(kind: type) -> Callable[[Row], Any]:
    validate: Callable[[Row], Any] = TypeAdapter(kind).validate_python

    def typed(row: Row) -> Any:
        try:
            return validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"the record is no {kind.__name__}: {where or 'it'}: {first['msg']}") from None

    return typed


def _not_emitted(method: str, returned: object) -> TypeError:
    """What is returned would be lost without a word; a generator has not even begun."""
    return TypeError(
        f"{method} returned a {type(returned).__name__}, and gives no rows that way: they leave by context.emit(row)"
    )


def no_key() -> ValueError:
    return ValueError("the record has no key, and what is kept here is kept by key")


class TimerMessage:
    """Stands for the record where Kafka gave none: what a timer emits has its key and its time."""

    __slots__ = ("_headers", "_key", "_time")

    def __init__(self, key: bytes | None, time: int, headers: Headers | None = None) -> None:
        self._key, self._time, self._headers = key, time, headers

    @classmethod
    def of(cls, timer: Timer) -> TimerMessage:
        """Event time may be far ahead of the clock on the wall, and brokers refuse records of the future: they get the present."""
        return cls(timer.key, min(timer.time, time.time_ns() // 1_000_000))

    def topic(self) -> str | None:
        return None

    def partition(self) -> int | None:
        return None

    def offset(self) -> int | None:
        return None

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return None

    def headers(self) -> Headers | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, self._time
