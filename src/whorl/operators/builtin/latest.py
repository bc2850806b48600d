"""The latest operator: the last record of each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from whorl.operators.builtin.by_key import ByKey, LastingOptions
from whorl.operators.builtin.query_only import not_a_time
from whorl.operators.builtin.timeline import moment_in
from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.operator import Fault
from whorl.operators.record import Row
from whorl.schema import Schema
from whorl.state.states import ValueState


class LatestRecord(KeyedOperator):
    """What it keeps is the record itself: that is what readers of its state see."""

    record = ValueState(dict)

    def __init__(self, time: str | None) -> None:
        self._time = time

    def process(self, key: Any, record: Row, context: Context) -> None:
        if self._time is None or not self._is_older(record, self._time):
            self.record.set(record)
            context.emit(record)

    def _is_older(self, record: Row, time: str) -> bool:
        moment, kept = moment_in(record, time), self.record.get()
        return kept is not None and moment < moment_in(kept, time)


class LatestOptions(LastingOptions):
    time: str | None = Field(
        None, description="the column of time that says which is the last; left out: the order they come in"
    )


class Latest(ByKey):
    type = "latest"
    summary = (
        "Keeps the last record of each key, and passes each that becomes it; older ones are left out. Of two of the same time the one "
        "that comes later is the last."
    )
    Options = LatestOptions

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        return LatestRecord(self.options.time)

    def faults(self) -> Iterator[Fault]:
        if self.options.time is not None:
            yield from not_a_time(("time",), self.options.time, self.entering)
