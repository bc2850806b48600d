"""The join operator: rows of two inputs that belong together, side by side.

With a table it runs in tasks. So do streams that meet by columns within an interval of event time, where what is beside them does; all
else is a query's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from whorl.operators.builtin.interval_join import IntervalJoin, SideBySide
from whorl.operators.builtin.query_only import QueryOperator, not_a_time, replay_faults
from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.native import Native, Query
from whorl.operators.operator import Fault, Options, Shape, Step, Upstream, not_with_state
from whorl.operators.record import Row
from whorl.operators.sqltext import interval, quoted
from whorl.schema import Schema
from whorl.state.binding import table_names
from whorl.units import Duration

_KINDS = {"inner": "INNER", "left": "LEFT OUTER", "right": "RIGHT OUTER", "full": "FULL OUTER", "semi": "LEFT SEMI"}
_NAME = re.compile(r"\w+$")


class JoinOptions(Options):
    on: str | tuple[str, ...] = Field(
        min_length=1,
        description="columns that both inputs have, or a SQL condition over the two ids: left.id = right.order",
    )
    kind: Literal["inner", "left", "right", "full", "semi"] = Field(
        "inner", description="which rows stay without a partner; semi: those of the left that have one, alone"
    )
    within: Duration | None = Field(
        None,
        gt=0,
        description="two rows belong together only if their times are this near; lets a query forget old rows",
    )
    time: tuple[str, str] | None = Field(
        None, description="with `within`: the time column of the left and of the right"
    )

    @model_validator(mode="after")
    def _both(self) -> JoinOptions:
        if (self.within is None) != (self.time is None):
            raise ValueError("'within' and 'time' go together")
        return self

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns of `on`; none where it is a condition."""
        if isinstance(self.on, tuple):
            return self.on
        return (self.on,) if _NAME.match(self.on) else ()


class Enrichment(KeyedOperator):
    """Each record beside the row that a table has for its key when it comes."""

    def __init__(self, table: str, kind: str, beside: SideBySide) -> None:
        self._table, self._kind, self._beside = table, kind, beside

    def process(self, key: Any, record: Row, context: Context) -> None:
        row = context.table(self._table)
        if self._kind == "semi" and row is not None:
            context.emit(record)
        elif self._kind == "left" or (self._kind == "inner" and row is not None):
            context.emit(self._beside(record, row))


class Join(QueryOperator):
    type = "join"
    summary = (
        "Rows of two inputs that belong together, side by side; of `from: [left, right]`, each a stream or a static file. If the right is a "
        "table (`tables`), each row gets what the table has for it at that moment, and `on` names the columns that hold the table's key. "
        "Streams are joined in a query; in tasks, where `on` names columns, `within` is there, and the columns of `time` are those of the "
        "sources' watermarks: a row without a partner leaves when the watermark has passed its interval, one behind the watermark is left "
        "out, and one without a key goes the way of `on_error`."
    )
    Options = JoinOptions
    inputs = 2

    def reading(self, upstreams: Sequence[Upstream]) -> Self:
        placed = super().reading(upstreams)
        placed.of_queries = "" if placed._with_table else placed._not_by_interval()
        placed.in_tasks = not placed.of_queries
        # What a timer emits came from no partition, and partners may have come from different ones: rows go by their key.
        placed.changes_key = placed.in_tasks and not placed._with_table
        return placed

    def keyed_by(self) -> tuple[str, ...] | None:
        return self.options.shared if self.in_tasks else None

    def states(self, schema: Schema | None) -> tuple[str, ...]:
        return table_names(Enrichment if self._with_table else IntervalJoin) if self.in_tasks else ()

    def step(self, schema: Schema | None) -> Step:
        if not self.in_tasks:
            return super().step(schema)
        return Step(Shape.KEYED, self._joining, keyed=self._keyed_step)

    def _keyed_step(self, id: str) -> KeyedStep:
        tables = [each.table for each in self.upstreams if each.is_table]
        return KeyedStep(self._joining(), id, bytes, tables=tables)

    def _joining(self) -> KeyedOperator:
        left, right = self.upstreams
        options, beside = self.options, SideBySide(self.options.shared, left.schema, right.schema)
        if self._with_table:
            return Enrichment(right.table, options.kind, beside)
        return IntervalJoin((left.table, right.table), options.time, options.within, options.kind, beside)

    @property
    def _with_table(self) -> bool:
        return any(upstream.is_table for upstream in self.upstreams)

    def _not_by_interval(self) -> str:
        """Why tasks cannot join these two streams; empty where they can."""
        options = self.options
        if len(self.upstreams) != 2 or options.within is None:
            return "without 'within', rows would be kept for ever"
        if not options.shared:
            return "its 'on' is a condition, and tasks find rows by the columns of a key"
        for upstream, column in zip(self.upstreams, options.time, strict=True):
            if upstream.time != column:
                return f"no source of '{upstream.table}' has a watermark of '{column}', which says when rows can be forgotten"
        for name in options.shared:
            if len({each.schema.type_of(name) for each in self.upstreams if each.schema}) > 1:
                return f"'{name}' has not the same type in both inputs"
        return ""

    def native(self, schema: Schema | None) -> Native | None:
        columns = self._columns()
        if columns is None or self._with_table:
            return None
        left, right = (quoted(each.table) for each in self.upstreams)
        listed = ", ".join(f"{sql} AS {quoted(name)}" for name, _, sql in columns)
        joined = f"{left} {_KINDS[self.options.kind]} JOIN {right}"
        query = f"SELECT {listed} FROM {joined} ON {self._condition(left, right)}"
        return Query((query,), tables=tuple(each.table for each in self.upstreams), joins=True)

    def not_in_query(self) -> tuple[str, str] | None:
        return not_with_state(self.upstreams) if self.in_tasks else None

    def output(self, schema: Schema | None) -> Schema | None:
        columns = self._columns()
        return Schema(tuple((name, kind) for name, kind, _ in columns)) if columns else None

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self._with_table:
            yield from self._not_with_a_table()
        if isinstance(self.options.on, str):
            yield from replay_faults(("on",), self.options.on)
        for upstream in self.upstreams:
            if not upstream.is_table:  # whose key is in Kafka, and may be in no column
                yield from self._missing(upstream)
        yield from self._clashes()
        for index, (upstream, column) in enumerate(zip(self.upstreams, self.options.time or (), strict=False)):
            yield from not_a_time(("time", index), column, upstream.schema)

    def _not_with_a_table(self) -> Iterator[Fault]:
        if [upstream.is_table for upstream in self.upstreams] != [False, True]:
            message = "it joins a stream with a table, in this order"
            yield Fault(("from",), "inputs", message, "write `from: [stream, table]`")
        if not self.options.shared:
            message = "a row of a table is found by its key, not by a condition"
            yield Fault(
                ("on",), "value", message, "name the column, or the columns, of the stream that hold the table's key"
            )
        for path, odd in ((("kind",), self.options.kind in ("right", "full")), (("within",), self.options.within)):
            if odd:
                hint = "a table is looked into when a row of the stream comes; take it away"
                yield Fault(path, "value", f"'{path[0]}' does not go with a table", hint)

    def _missing(self, upstream: Upstream) -> Iterator[Fault]:
        for index, name in enumerate(self.options.shared):
            if upstream.schema is not None and name not in upstream.schema:
                path = ("on", index) if isinstance(self.options.on, tuple) else ("on",)
                hint = f"columns: {', '.join(upstream.schema.names)}"
                yield Fault(path, "column", f"'{upstream.table}' has no column '{name}'", hint)

    def _clashes(self) -> Iterator[Fault]:
        if len(self.upstreams) != 2 or self.options.kind == "semi":
            return
        left, right = (_names(each) - {name.lower() for name in self.options.shared} for each in self.upstreams)
        for name in sorted(left & right):
            yield Fault(("on",), "column", f"both inputs have a column '{name}'", "rename or drop one of them before")

    def _columns(self) -> list[tuple[str, str, str]] | None:
        """(name, type, SQL) of what leaves; None where what enters is not known."""
        if len(self.upstreams) != 2 or any(each.schema is None for each in self.upstreams):
            return None
        left, right = self.upstreams
        columns = [(name, kind, self._left(name)) for name, kind in left.schema or ()]
        if self.options.kind == "semi":
            return columns
        own = [(name, kind) for name, kind in right.schema or () if name not in self.options.shared]
        return columns + [(name, kind, f"{quoted(right.table)}.{quoted(name)}") for name, kind in own]

    def _left(self, name: str) -> str:
        """A column of the left; one of `on` has a value even where only the right has the row."""
        left, right = (f"{quoted(each.table)}.{quoted(name)}" for each in self.upstreams)
        if name not in self.options.shared or self.options.kind not in ("right", "full"):
            return left
        return right if self.options.kind == "right" else f"coalesce({left}, {right})"

    def _condition(self, left: str, right: str) -> str:
        equal = [f"{left}.{quoted(name)} = {right}.{quoted(name)}" for name in self.options.shared]
        # A line break ends a comment that the condition may have.
        parts = equal or [f"({self.options.on}\n)"]
        if self.options.within is not None and self.options.time is not None:
            at, other = f"{left}.{quoted(self.options.time[0])}", f"{right}.{quoted(self.options.time[1])}"
            apart = f"INTERVAL '{interval(self.options.within)}'"
            parts.append(f"{other} BETWEEN {at} - {apart} AND {at} + {apart}")
        return " AND ".join(parts)


def _names(upstream: Upstream) -> set[str]:
    return {name.lower() for name in upstream.schema.names} if upstream.schema else set()
