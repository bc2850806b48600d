"""User code in a query: called with each row in Python workers, through the same chain as on the other host.

What it raises on a record is that record's failure alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from whorl.errors import PipelineError
from whorl.operators.chain import Chain, ChainNode, StepFailed
from whorl.operators.operator import OperatorType
from whorl.operators.record import UNCHANGED, Metadata, Row
from whorl.plan.plan import Placed
from whorl.query.failing import failed_text
from whorl.query.fitting import MISFITS
from whorl.query.frames import (
    CAME,
    CARRIED,
    CHOICE,
    ERROR,
    FAILED,
    HEADERS,
    INPUT,
    KEY,
    OFFSET,
    PARTITION,
    SKIPPED,
    TIME,
    TOPIC,
    VALUE,
    hidden,
)  # fmt: skip
from whorl.query.schemas import struct_of
from whorl.query.steps import able_to_fail, ended
from whorl.schema import Schema

_IN, _OUT = "__in", "__out"
Given = tuple[Row, Row]
"""A row, and what it carries."""


def call_step(frame: DataFrame, placed: Placed, enters: Schema, action: str) -> DataFrame:
    id, operator = placed.node.id, placed.node.what
    assert isinstance(operator, OperatorType)
    leaves = operator.output(enters)
    if leaves is None:
        raise PipelineError(
            f"'{id}' does not say which columns it returns, and a query needs them",
            hint="add `returns: {column: type, ...}`",
            code="schema",
        )
    able = able_to_fail(frame)
    carried = [field for field in able.schema.fields if field.name in hidden(able)]
    struct = StructType([*(StructField(f.name, f.dataType) for f in carried), *struct_of(leaves, id).fields])
    call = partial(_call, id, operator, enters, action, struct)
    return ended(able.mapInArrow(call, struct), frame, id, action)


def _call(
    id: str, operator: OperatorType, enters: Schema, action: str, struct: StructType, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    caller = Caller(id, operator, enters, action)
    schema = to_arrow_schema(struct, timezone="UTC")
    try:
        for batch in batches:
            yield _batch(caller.all(_rows(batch)), schema, caller)
    finally:
        caller.close()


class Carried:
    """The record that a row came from, as metadata wants it."""

    __slots__ = ("fields",)

    def __init__(self, fields: Row) -> None:
        self.fields = fields

    def topic(self) -> str | None:
        return self.fields.get(TOPIC)

    def partition(self) -> int | None:
        return self.fields.get(PARTITION)

    def offset(self) -> int | None:
        return self.fields.get(OFFSET)

    def key(self) -> bytes | None:
        return self.fields.get(KEY)

    def value(self) -> bytes | None:
        return self.fields.get(VALUE)

    def headers(self) -> Any:
        return [(each["key"], each["value"]) for each in self.fields.get(HEADERS) or []] or None

    def timestamp(self) -> tuple[int, int]:
        return 1, self.fields.get(TIME) or 0


class Caller:
    """One operator at work, and what came of the rows that it was called with."""

    def __init__(
        self, id: str, operator: OperatorType, enters: Schema, action: str, inputs: Sequence[str] = (_IN,)
    ) -> None:
        """`inputs`: names of those that it reads, where it is to know which one a row came from (`INPUT`)."""
        self._id, self._action = id, action
        self._made: list[Row] = []
        outputs = operator.outputs() or ("",)
        edges = [*((name, id, "") for name in inputs), *((id, _OUT + output, output) for output in outputs)]
        emitters = {_OUT + output: partial(self._emit, output) for output in outputs}
        self._chain = Chain([ChainNode(id, operator, enters)], edges, emitters)
        self._doors = {name: self._chain.entry(name) for name in inputs}
        self._enter = self._doors[inputs[0]]
        self._chain.open()

    def all(self, rows: list[Given]) -> list[Row]:
        """What comes of them. Rows that failed before pass."""
        living = [each for each in rows if each[1].get(ERROR) is None]
        if not (self._chain.has_bulk and self._tried(living) is None):
            for each in living:
                failed = self._tried([each])
                if failed is not None:
                    self._made.append(self.failure(each[1], failed))
        return [*self.taken(), *(carried for _, carried in rows if carried.get(ERROR) is not None)]

    def failure(self, carried: Row, failed: BaseException) -> Row:
        cause = failed.cause if isinstance(failed, StepFailed) else failed
        message = f"{type(cause).__name__}: {cause}"
        if self._action == "fail":
            place = "/".join(str(carried[name]) for name in (TOPIC, PARTITION, OFFSET) if carried.get(name) is not None)
            raise RuntimeError(failed_text(self._id, place, message))
        return {**carried, ERROR: SKIPPED if self._action == "skip" else message, FAILED: self._id}

    def close(self) -> None:
        self._chain.close()

    def _tried(self, rows: list[Given]) -> BaseException | None:
        """All of them or none: what has come of them when one fails is dropped."""
        mark = len(self._made)
        try:
            for row, carried in rows:
                enter = self._doors.get(carried.get(INPUT, ""), self._enter)
                enter(row, Metadata(Carried(carried), carried.get(KEY)))
            self._chain.flush()
        except StepFailed as failed:
            del self._made[mark:]
            self._chain.drop()
            return failed
        return None

    def taken(self) -> list[Row]:
        """What was made since this was asked last."""
        made, self._made = self._made, []
        return made

    def _emit(self, output: str, row: Row, metadata: Metadata) -> None:
        made = {**row, **carried_by(metadata), KEY: metadata.key}
        if output:
            made[CHOICE] = output
        if metadata.own_headers is not UNCHANGED:
            made[HEADERS] = [{"key": name, "value": value} for name, value in metadata.own_headers or ()]
        if metadata.own_timestamp is not UNCHANGED:
            made[TIME] = metadata.own_timestamp
        self._made.append(made)


def carried_by(metadata: Metadata) -> Row:
    """Of the record; a timer has its key and its time."""
    message = metadata.message
    return message.fields if isinstance(message, Carried) else {CAME: message.key(), TIME: message.timestamp()[1]}


def _rows(batch: pa.RecordBatch) -> list[Given]:
    secret = set(batch.schema.names) & set(CARRIED)
    return [
        (
            {name: value for name, value in row.items() if name not in secret},
            {name: value for name, value in row.items() if name in secret},
        )
        for row in batch.to_pylist(maps_as_pydicts="lossy")
    ]


def _batch(rows: list[Row], schema: pa.Schema, caller: Caller) -> pa.RecordBatch:
    try:
        return _arrow(rows, schema)
    except MISFITS:
        return _arrow([_fitting(row, schema, caller) for row in rows], schema)


def _fitting(row: Row, schema: pa.Schema, caller: Caller) -> Row:
    """The row, or its failure where a value is not of the type that was declared."""
    try:
        _arrow([row], schema)
    except MISFITS as error:
        return caller.failure({name: value for name, value in row.items() if name in CARRIED}, error)
    return row


def _arrow(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
