"""The sessionize operator: records of a key that come close after each other, as one row when they have ended.

A session is a list: its first and last time in ms, then a value for each aggregate. A record is a session too, of itself alone, and
sessions that touch become one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from pydantic import Field, field_validator, model_validator

from whorl.operators.builtin.amounts import may_be_number, number_reader, plus, sum_type
from whorl.operators.builtin.by_key import ByKey, KeyOptions, Path
from whorl.operators.builtin.extremes import greatest, is_ordered, least
from whorl.operators.builtin.query_only import not_a_time
from whorl.operators.builtin.timeline import Timeline
from whorl.operators.keyed import Context, KeyedOperator, milliseconds, moment
from whorl.operators.operator import Fault
from whorl.operators.record import Row
from whorl.operators.sqltext import told_apart
from whorl.schema import TEXT, UNKNOWN, Schema
from whorl.state.states import ValueState
from whorl.units import Duration

START, END, COUNT = "session_start", "session_end", "count"
Session = list[Any]
_CALL = re.compile(r"\s*(\w+)\s*\(\s*(\*|\w*|`[^`]+`)\s*\)\s*$")
_MERGED: Mapping[str, Callable[[Any, Any, Any, Any], Any]] = {
    "count": lambda one, other, first, last: one + other,
    "sum": lambda one, other, first, last: plus(one, other),
    "min": lambda one, other, first, last: least(one, other),
    "max": lambda one, other, first, last: greatest(one, other),
    "first": lambda one, other, first, last: first,
    "last": lambda one, other, first, last: last,
}
"""The value of two sessions together, from that of one and the other, of the one that begins first and of the one that ends last."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function, and the column that it looks at ('' where it counts records)."""

    name: str
    function: str
    column: str

    @classmethod
    def parsed(cls, name: str, written: str) -> Aggregate:
        """Of text such as `sum(amount)`."""
        found = _CALL.match(written)
        function, column = (found[1].lower(), found[2].strip("`")) if found else ("", "")
        if function not in _MERGED:
            raise ValueError(f"'{written}' is not one of {', '.join(f'{each}(column)' for each in _MERGED)}")
        if function != "count" and column in ("", "*"):
            raise ValueError(f"'{written}' names no column")
        return cls(name, function, column.strip("*"))

    def of_one(self, text: bool) -> Callable[[Row], Any]:
        """From a record to its value; `text`: numbers are written in digits."""
        column = self.column
        if self.function == "sum" or (text and self.function in ("min", "max")):
            return number_reader(column, text)
        if self.function == "count":
            return (lambda row: int(row.get(column) is not None)) if column else (lambda row: 1)
        return lambda row: row.get(column)

    def type(self, schema: Schema | None) -> str:
        kind = schema.type_of(self.column) if schema else UNKNOWN
        return {"count": "long", "sum": sum_type(kind)}.get(self.function, kind)

    def fits(self, kind: str) -> bool:
        if self.function == "sum":
            return may_be_number(kind)
        return self.function not in ("min", "max") or is_ordered(kind)


class Sessions(KeyedOperator):
    sessions = ValueState(list)
    """Those that have not ended, in order of time."""

    def __init__(
        self, key: Sequence[str], aggregates: Sequence[Aggregate], text: bool, time: Timeline, gap: int
    ) -> None:
        """`gap`: ms."""
        self._names = (*key, START, END, *(each.name for each in aggregates))
        # A timer has no record, so the values of the key's columns are kept too.
        values = [*(Aggregate(name, "first", name) for name in key), *aggregates]
        self._of_one = [each.of_one(text) for each in values]
        self._merge = [_MERGED[each.function] for each in values]
        self._keys, self._time, self._gap = len(key), time, gap
        self.timers_by = time.clock

    def process(self, key: Any, record: Row, context: Context) -> None:
        at, gap, before = self._time.of(record, context), self._gap, self.sessions.get() or []
        touched = [session for session in before if session[0] - gap < at < session[1] + gap]
        complete = self._time.complete(max([at, *(session[1] for session in before)]), context)
        if not touched:
            if at + gap <= complete:
                return
            context.timers.at(moment(at + gap), self._time.clock)
        alone = [at, at, *(of_one(record) for of_one in self._of_one)]
        together = reduce(self._together, [*touched, alone])
        self._keep(sorted([*(each for each in before if each not in touched), together], key=_start), complete, context)

    def on_timer(self, key: Any, time: datetime, context: Context) -> None:
        """A session has a timer from when it began; where it went on since, the next one is for when it would end now."""
        for session in self._keep(self.sessions.get() or [], milliseconds(time), context):
            context.timers.at(moment(session[1] + self._gap), self._time.clock)

    def _keep(self, sessions: list[Session], complete: int, context: Context) -> list[Session]:
        """Those that have not ended; of each of the others a row leaves."""
        for session in sessions:
            if session[1] + self._gap <= complete:
                context.emit(self._row(session))
        still = [session for session in sessions if session[1] + self._gap > complete]
        if still:
            self.sessions.set(still)
        else:
            self.sessions.clear()
        return still

    def _together(self, one: Session, other: Session) -> Session:
        """`other` came later: at the same time it is the last, and not the first."""
        first, last = one if one[0] <= other[0] else other, other if other[1] >= one[1] else one
        values = [merge(one[at], other[at], first[at], last[at]) for at, merge in enumerate(self._merge, 2)]
        return [first[0], last[1], *values]

    def _row(self, session: Session) -> Row:
        start, end, *values = session
        columns = [*values[: self._keys], moment(start), moment(end), *values[self._keys :]]
        return dict(zip(self._names, columns, strict=True))


def _start(session: Session) -> int:
    return int(session[0])


class SessionizeOptions(KeyOptions):
    gap: Duration = Field(gt=0, description="how long the silence that ends a session")
    time: str | None = Field(None, description="the column of event time; left out: sessions are of processing time")
    aggregates: dict[str, str] = Field(
        default_factory=dict,
        description=f"column to what it becomes, such as sum(amount): {', '.join(_MERGED)} of a column",
    )

    @field_validator("aggregates")
    @classmethod
    def _allowed(cls, aggregates: dict[str, str]) -> dict[str, str]:
        for name, written in aggregates.items():
            Aggregate.parsed(name, written)
        return aggregates

    @model_validator(mode="after")
    def _names(self) -> SessionizeOptions:
        if not told_apart([*self.key, START, END, *(each.name for each in self.parsed)]):
            raise ValueError(f"two columns get the same name; {START}, {END} and {COUNT} are there already")
        return self

    @property
    def parsed(self) -> list[Aggregate]:
        """The number of records is always there."""
        return [Aggregate(COUNT, "count", ""), *(Aggregate.parsed(*each) for each in self.aggregates.items())]


class Sessionize(ByKey):
    type = "sessionize"
    summary = (
        "Brings records of a key together that come close after each other: a row when nothing has come for the length of `gap`, with the "
        f"key's columns, `{START}` and `{END}` (the times of the first record and the last), `{COUNT}`, and aggregates. In event time "
        "a session ends when the watermark, or, where no source has a watermark, a newer record of the key has passed its gap; a record "
        "between two sessions makes them one, and a record of a session that has ended counts nowhere."
    )
    Options = SessionizeOptions
    changes_key = True  # what a timer emits came from no partition, so it goes by its key

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        options = self.options
        gap = max(round(options.gap * 1000), 1)
        return Sessions(options.key, options.parsed, schema == TEXT, Timeline(options.time), gap)

    def output(self, schema: Schema | None) -> Schema | None:
        keys = [(name, schema.type_of(name) if schema else UNKNOWN) for name in self.options.key]
        times = [(START, "timestamp"), (END, "timestamp")]
        return Schema((*keys, *times, *((each.name, each.type(schema)) for each in self.options.parsed)))

    def columns(self) -> list[tuple[Path, str]]:
        looked_at = [(("aggregates", each.name), each.column) for each in self.options.parsed if each.column]
        return [*super().columns(), *looked_at]

    def faults(self) -> Iterator[Fault]:
        if self.options.time is not None:
            yield from not_a_time(("time",), self.options.time, self.entering)
        schema = self.entering
        if schema is not None and schema != TEXT:
            yield from self._unfit(schema)

    def _unfit(self, schema: Schema) -> Iterator[Fault]:
        for each in self.options.parsed:
            kind = schema.type_of(each.column)
            if not each.fits(kind):
                message = f"{each.function}({each.column}): the column is a {kind}"
                yield Fault(("aggregates", each.name), "type", message, "name another column, or cast it first")
