"""Operators that let each value pass once: distinct and deduplicate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field, model_validator

from whorl.operators.builtin.by_key import Evict, MaxBytes, MaxKeys, keyed_step, not_with_limits, paths
from whorl.operators.builtin.query_only import QueryOperator
from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.native import Keyed, Native, Unique
from whorl.operators.operator import Columns, Fault, Options, Step, not_with_state
from whorl.operators.record import Row
from whorl.schema import Schema
from whorl.state.binding import table_names
from whorl.state.states import TtlTime, ValueState
from whorl.units import Duration

Paths = Iterable[tuple[tuple[str | int, ...], str]]


class DistinctOptions(Options):
    columns: tuple[str, ...] = Field((), description="the columns that leave it; left out: all")


class Distinct(QueryOperator):
    type = "distinct"
    summary = "Each combination of values once, for ever; no other columns."
    Options = DistinctOptions

    def native(self, schema: Schema | None) -> Native | None:
        return Unique(self.options.columns, narrow=bool(self.options.columns))

    def output(self, schema: Schema | None) -> Schema | None:
        names = self.options.columns
        return Schema(tuple((name, schema.type_of(name)) for name in names)) if schema and names else schema

    def columns(self) -> Paths:
        return [(("columns", index), name) for index, name in enumerate(self.options.columns)]


class FirstOfEach(KeyedOperator):
    """Its key is the id. What is seen again does not live longer: the time counts from the first."""

    seen = ValueState(bool)

    def process(self, key: Any, record: Row, context: Context) -> None:
        if self.seen.get() is None:
            self.seen.set(True)
            context.emit(record)


class DeduplicateOptions(Options):
    columns: tuple[str, ...] = Field((), description="what makes two rows the same; left out: all columns")
    within_watermark: bool = Field(
        False, description="values are forgotten once the watermark has passed, so that state does not grow for ever"
    )
    message_id: Columns = Field(
        (),
        description="instead of both, as state in tasks: the column or columns of a message's own id, whose first record passes",
    )
    ttl: Duration | None = Field(
        None, gt=0, description="with `message_id`: how long after its first record an id is known; left out: for ever"
    )
    ttl_time: TtlTime = Field("processing", description="whether `ttl` is of processing time or of event time")
    max_keys: MaxKeys = None
    max_bytes: MaxBytes = None
    evict: Evict = "oldest"

    @model_validator(mode="after")
    def _one_host(self) -> DeduplicateOptions:
        for name in ("columns", "within_watermark") if self.message_id else ():
            if getattr(self, name):
                raise ValueError(f"'{name}' is for queries, and with 'message_id' it runs in tasks: keep one of them")
        for name in ("ttl", "max_keys", "max_bytes"):
            if getattr(self, name) is not None and not self.message_id:
                raise ValueError(f"'{name}' goes with a 'message_id'; a query forgets by 'within_watermark'")
        return self


class Deduplicate(QueryOperator):
    """Of queries; but with `message_id` of tasks, which keep the ids in their own state."""

    type = "deduplicate"
    summary = (
        "Passes one row of each combination of values, whole; later ones are left out. It runs in a query; with `message_id` in tasks, "
        "at once, and a record that passes keeps its headers and its time."
    )
    Options = DeduplicateOptions

    def __init__(self, options: DeduplicateOptions) -> None:
        super().__init__(options)
        self.in_tasks = bool(options.message_id)

    def step(self, schema: Schema | None) -> Step:
        return keyed_step(FirstOfEach, self.options) if self.in_tasks else super().step(schema)

    def keyed_by(self) -> tuple[str, ...] | None:
        return tuple(self.options.message_id) if self.in_tasks else None

    def states(self, schema: Schema | None) -> tuple[str, ...]:
        return table_names(FirstOfEach) if self.in_tasks else ()

    def native(self, schema: Schema | None) -> Native | None:
        if self.options.message_id:
            return None if self.not_in_query() else Keyed(self.options.message_id)
        return Unique(self.options.columns, self.options.within_watermark)

    def not_in_query(self) -> tuple[str, str] | None:
        return not_with_limits(self.options) or not_with_state(self.upstreams) if self.in_tasks else None

    def columns(self) -> Paths:
        named = [(("columns", index), name) for index, name in enumerate(self.options.columns)]
        return [*named, *paths("message_id", self.options.message_id)]

    def faults(self) -> Iterator[Fault]:
        return iter(()) if self.in_tasks else super().faults()
