"""Operators with state by key, as users write them:

    class Alert(KeyedOperator):
        spent = ValueState(float, ttl="1h")

        def process(self, key, record, context):
            spent = self.spent.update(lambda before: (before or 0.0) + record["amount"])
            if spent > 1000:
                context.emit({"account": key, "spent": spent})
                context.timers.after("10m")

        def on_timer(self, key, time, context):
            self.spent.clear()

One object serves all keys of a task, so what belongs to a key is kept in a state, never in an attribute. What `process` or `on_timer`
emits, writes and sets is there whole, or, if it raises, not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from whorl.operators.record import Metadata, Record, Row
from whorl.state.partition import LpState
from whorl.state.scope import used_outside
from whorl.state.table import Table
from whorl.state.times import UNKNOWN

if TYPE_CHECKING:
    from pyarrow import RecordBatch

Clock = Literal["event", "processing"]
Aggregator = Literal["sum", "min", "max"]
Emitted = tuple[str, Row, Metadata]
"""The output's name ('' where there is one alone), the row, and what it leaves with."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


class KeyedOperator:
    """Base of operators with state. States are class attributes: `ValueState`, `ListState`, `MapState`."""

    record_type: ClassVar[type | None] = None
    """A dataclass or a pydantic model that `process` gets instead of a dict; a record that does not fit it fails."""
    version: ClassVar[int] = 1
    """Of what its states hold: one higher whenever values of before would not do any more, with a `migrate` that knows them."""
    aggregators: ClassVar[Mapping[str, Aggregator]] = {}
    """In supersteps: what `context.aggregate` may be told, and what is made of it over all logical partitions."""
    timers_by: Clock | None = None
    """In a query, which has one clock for timers: which one. None: event time where a source has a watermark."""

    def open(self, context: Context) -> None:
        """Once in each task, before the first record. There is no key yet."""

    def process(self, key: Any, record: Any, context: Context) -> None:
        """`record` is a row, a dict, or of the `record_type`."""
        raise NotImplementedError(f"'{type(self).__qualname__}' has no method 'process(self, key, record, context)'")

    def on_timer(self, key: Any, time: datetime, context: Context) -> None:
        """A timer that `process` has set is due; `time` is the one it was set for."""

    def on_superstep_end(self, context: Context) -> None:
        """Of a loop with `supersteps: true`: in each logical partition, when all records of the superstep were processed. There is no key."""

    def migrate(self, state: str, key: Any, value: Any, version: int) -> Any:
        """What the state of this name holds now in place of `value`, which an earlier version has kept; of a list the whole list, of a map
        one entry. None: nothing. `value` is as it is stored, with dicts for dataclasses. Called when it is read, maybe more than once,
        until it is written: so it depends on nothing else."""
        raise NotImplementedError(f"'{type(self).__qualname__}' has no method 'migrate'")

    def close(self) -> None:
        """When the task ends in good order."""


def migrates(operator: type[KeyedOperator]) -> bool:
    """Whether it knows values of earlier versions."""
    return operator.migrate is not KeyedOperator.migrate


class BatchOperator(KeyedOperator):
    """One that gets many records of a logical partition at once, and its states by many keys:

        class Totals(BatchOperator):
            total = ValueState(float)

            def process_batch(self, keys, batch, context):
                before = self.total.get_many(keys)
                ...
                self.total.put_many(keys, after)
                return batch.append_column("total", pa.array(after))

    It has no timers and one output. A record on which it fails is found by trying each alone.
    """

    def process_batch(self, keys: list[bytes], batch: RecordBatch, context: Context) -> Any:
        """`keys` are as Kafka has them, one for each row of `batch`; a key may come several times, in the order of its records. Returns as
        many rows, as an Arrow batch or table or a list of dicts, of which None leaves nothing; or None, where nothing leaves at all.
        `context` has the clocks; rows leave by being returned."""
        raise NotImplementedError(
            f"'{type(self).__qualname__}' has no method 'process_batch(self, keys, batch, context)'"
        )


class Timers:
    """Those of the current key. Each fires once, in order of time, also after a restart; one set twice for the same time is one."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def at(self, time: datetime | float, clock: Clock = "event") -> None:
        """A number is seconds since 1970. In event time it fires when the watermark reaches it."""
        self._context._set(clock, milliseconds(time))

    def after(self, delay: str | float | timedelta) -> None:
        """So long from now, in processing time: "10m", seconds, or a timedelta."""
        self._context._set_after(delay)

    def cancel(self, time: datetime | float, clock: Clock = "event") -> None:
        """Also one that was never set."""
        self._context._cancel(clock, milliseconds(time))


class Context:
    """What an operator knows of the present, and how its rows leave."""

    __slots__ = (
        "_aggregated",
        "_aggregates",
        "_aggregators",
        "_emitted",
        "_id",
        "_key",
        "_lp",
        "_outputs",
        "_seconds",
        "_tables",
        "input",
        "metadata",
        "superstep",
        "timers",
    )

    _lp: LpState

    def __init__(
        self, id: str, outputs: Collection[str], tables: Collection[str], seconds: Callable[[str], float]
    ) -> None:
        """`outputs`: their names; none where it has one alone. `tables`: those it reads. `seconds`: of a duration as people write it."""
        self._id, self._seconds = id, seconds
        self._tables = frozenset(tables)
        self.input = ""
        """Which of several inputs the record came from; '' in `on_timer`, and where there is one alone."""
        self._outputs = frozenset(outputs or ("",))
        self._key: bytes | None = None
        self._emitted: list[Emitted] = []
        self.metadata: Metadata
        """Key, headers, time and place of the record; in `on_timer` of the timer: no topic, and its own time."""
        self.timers = Timers(self)
        self.superstep = 0
        """Of a loop with `supersteps: true`: its number, from 1."""
        self._aggregators: Mapping[str, Aggregator] = {}
        self._aggregates: dict[str, Any] = {}
        self._aggregated: Mapping[str, Any] = {}

    def emit(self, record: Any, to: str = "") -> None:
        """A row leaves, a dict or a dataclass or a pydantic model, with key, headers and time of the record; `Record` says others. `to`
        names one of several outputs."""
        metadata = self.metadata
        if to not in self._outputs:
            raise _no_output(to, self._outputs)
        if record.__class__ is not dict:
            record, metadata = _taken_apart(record, metadata)
        self._emitted.append((to, record, metadata))

    def aggregate(self, name: str, value: Any) -> None:
        """Adds to what all logical partitions make together of this superstep, as the class's `aggregators` says."""
        if name not in self._aggregators:
            raise ValueError(
                f"there is no aggregator '{name}'; declare it in the class: aggregators = {{'{name}': 'sum'}}"
            )
        # Not changed in place: a record that fails leaves what was there before.
        made = combined(self._aggregators[name], self._aggregates.get(name), value)
        self._aggregates = {**self._aggregates, name: made}

    def aggregated(self, name: str) -> Any:
        """Over all logical partitions, in the superstep before; None where nobody has said anything."""
        return self._aggregated.get(name)

    def table(self, name: str) -> Row | None:
        """The row that a table has now for the current key; None where it has none."""
        if name not in self._tables:
            raise _no_table(name, self._tables)
        row: Row | None = table_of(self._lp, name).get(self._current("a table"))
        return row

    @property
    def round(self) -> int:
        """How often the record, or what it was made of, has gone round in a loop; 0 for what comes from outside, and in `on_timer`."""
        return self.metadata.round

    @property
    def now(self) -> datetime:
        """Processing time: the same for all records that are processed together, and never before what it was."""
        return moment(self._lp.clocks.clock)

    @property
    def watermark(self) -> datetime | None:
        """Event time that is complete, as far as the sources' delay says; None where there is none yet."""
        watermark = self._lp.clocks.watermark
        return None if watermark == UNKNOWN else moment(watermark)

    def _set(self, clock: Clock, time: int) -> None:
        self._lp.timers.at(self._id, self._current("a timer"), time, clock)

    def _set_after(self, delay: str | float | timedelta) -> None:
        seconds = self._seconds(delay) if isinstance(delay, str) else delay
        delta = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        self._set("processing", self._lp.clocks.clock + max(delta // _MS, 0))

    def _cancel(self, clock: Clock, time: int) -> None:
        self._lp.timers.cancel(self._id, self._current("a timer"), time, clock)

    def _current(self, what: str) -> bytes:
        if self._key is None:
            raise used_outside(what, self._id)
        return self._key


def combined(how: Aggregator, one: Any, other: Any) -> Any:
    """Of two values, of which one may be missing."""
    if one is None or other is None:
        return other if one is None else one
    if how == "sum":
        return one + other
    return min(one, other) if how == "min" else max(one, other)


def table_of(lp: LpState, name: str) -> Table:
    """What is kept of a table that operators read."""
    return lp.table(name, "row")


def moment(ms: int) -> datetime:
    return _EPOCH + ms * _MS


def milliseconds(time: datetime | float) -> int:
    """Since 1970, of a moment (UTC where it does not say) or of seconds."""
    if not isinstance(time, datetime):
        return round(time * 1000)
    aware = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return (aware - _EPOCH) // _MS


def _no_output(to: str, outputs: frozenset[str]) -> ValueError:
    if outputs == {""}:
        return ValueError(f"emit to '{to}': the operator has one output; name several with `outputs: [...]`")
    return ValueError(f"emit to '{to}': the outputs are {', '.join(sorted(outputs))}")


def _no_table(name: str, tables: frozenset[str]) -> ValueError:
    known = f"it reads {', '.join(sorted(tables))}" if tables else "it reads none; name it in `from`"
    return ValueError(f"there is no table '{name}' here: {known}")


def _taken_apart(record: Any, metadata: Metadata) -> tuple[Row, Metadata]:
    if isinstance(record, Record):
        metadata, record = record.metadata(metadata), record.value
    if isinstance(record, dict):
        return record, metadata
    if is_dataclass(record) and not isinstance(record, type):
        return asdict(record), metadata
    if hasattr(record, "model_dump"):
        return record.model_dump(), metadata
    raise TypeError(f"emit takes a dict, a dataclass, a pydantic model or a Record, not {type(record).__name__}")
