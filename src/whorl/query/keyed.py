"""Operators with state by key, on Spark's own `transformWithState`: state is kept, checkpointed and rescaled by Spark.

An operator is anything with the two methods of `Keyed`; it sees rows as dicts, and states through a `Handle`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from whorl.query.schemas import struct_of
from whorl.schema import Schema

Fields = dict[str, Any]
Clock = Literal["None", "ProcessingTime", "EventTime"]


class Value(Protocol):
    """One value for each key; None where there is none."""

    def get(self) -> Fields | None: ...
    def set(self, value: Fields) -> None: ...
    def clear(self) -> None: ...


class Handle(Protocol):
    """What an operator asks for when it is opened, and may use while it processes a key."""

    def value(self, name: str, schema: Schema, ttl: float | None = None) -> Value: ...
    def set_timer(self, time: int) -> None:
        """Milliseconds since 1970, of the clock that the operator runs by."""


class Keyed(Protocol):
    def open(self, handle: Handle) -> None: ...
    def process(self, key: Fields, rows: Iterable[Fields]) -> Iterable[Fields]: ...


def keyed_step(
    frame: DataFrame, key: tuple[str, ...], operator: Keyed, leaves: Schema, *, id: str, clock: Clock = "None"
) -> DataFrame:
    """The rows that the operator gives; `frame` is a stream without hidden columns."""
    struct = struct_of(leaves, id)
    return frame.groupBy(*key).transformWithState(_Processor(operator, key, struct), struct, "Update", clock)


class _Value:
    def __init__(self, state: Any, names: tuple[str, ...]) -> None:
        self._state, self._names = state, names

    def get(self) -> Fields | None:
        return dict(zip(self._names, self._state.get(), strict=True)) if self._state.exists() else None

    def set(self, value: Fields) -> None:
        self._state.update(tuple(value.get(name) for name in self._names))

    def clear(self) -> None:
        self._state.clear()


class _Handle:
    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle

    def value(self, name: str, schema: Schema, ttl: float | None = None) -> Value:
        milliseconds = None if ttl is None else round(ttl * 1000)
        return _Value(self._handle.getValueState(name, struct_of(schema, name), milliseconds), schema.names)

    def set_timer(self, time: int) -> None:
        self._handle.registerTimer(time)


class _Processor(StatefulProcessor):  # type: ignore[misc]
    """Made on the driver and sent to the workers; Spark opens it once in each task."""

    def __init__(self, operator: Keyed, key: tuple[str, ...], struct: StructType) -> None:
        self._operator, self._key, self._names = operator, key, struct.names

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._operator.open(_Handle(handle))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        fields = (row.asDict(recursive=True) for row in rows)
        return map(self._row, self._operator.process(self._named(key), fields))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """With a method `timer(key, time)`, as an operator that sets timers has."""
        on_timer = getattr(self._operator, "timer", None)
        made = on_timer(self._named(key), expiredTimerInfo.getExpiryTimeInMs()) if on_timer else ()
        return map(self._row, made)

    def close(self) -> None:
        close = getattr(self._operator, "close", None)
        if close is not None:
            close()

    def _named(self, key: Any) -> Fields:
        return dict(zip(self._key, key, strict=True))

    def _row(self, fields: Fields) -> Row:
        return Row(**{name: fields.get(name) for name in self._names})
