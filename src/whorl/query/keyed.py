"""Operators with state by key, on Spark's own `transformWithState`: state is kept, checkpointed and rescaled by Spark.

Rows carry their record through it, so that what leaves has key, time and headers, and what fails becomes a dead letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from whorl.errors import PipelineError
from whorl.operators.keyed import KeyedOperator
from whorl.operators.native import Keyed
from whorl.operators.operator import OperatorType
from whorl.plan.plan import Placed
from whorl.query.frames import CHOICE, EVENT, INPUT, KEY, carries, column, hidden, without_hidden
from whorl.query.processor import GROUP, NOW, KeyedWork, Processor
from whorl.query.schemas import schema_of, struct_of
from whorl.query.steps import able_to_fail, ended, together
from whorl.query.texts import key_of
from whorl.schema import Schema
from whorl.state.timers import Kind

TimeMode = Literal["None", "EventTime", "ProcessingTime"]
MODES: Mapping[Kind | None, TimeMode] = {None: "None", "event": "EventTime", "processing": "ProcessingTime"}


def keyed_step(
    inputs: Mapping[str, DataFrame],
    placed: Placed,
    native: Keyed,
    action: str,
    mode: str,
    watermark: bool,
    initial: DataFrame | None = None,
) -> tuple[DataFrame, Kind | None]:
    """What it makes, and the clock that wakes it. `inputs`: by name. `mode`: in which the query gives rows. `watermark`: whether it has
    one. `initial`: what it begins with, of all operators."""
    id, operator, leaves = placed.node.id, placed.node.what, placed.node.schema
    assert isinstance(operator, OperatorType) and leaves is not None
    frame = together(list(inputs.values()) if len(inputs) == 1 else [_named(*each) for each in inputs.items()])
    able = able_to_fail(frame)
    enters = schema_of(without_hidden(frame).schema)
    given = _given(able, native, id)
    clock, fires = clock_of(operator, enters, id, watermark)
    struct = _struct(able, leaves, id, native)
    work = KeyedWork(id, operator, enters, action, tuple(inputs), given.schema, struct, clock, watermark, fires)
    begins = None if initial is None else _of_operator(initial, id).groupBy(GROUP)
    made = given.groupBy(GROUP).transformWithState(Processor(work), struct, mode, MODES[clock], begins)
    return ended(made, frame, id, action), clock


def clock_of(operator: OperatorType, enters: Schema | None, id: str, watermark: bool) -> tuple[Kind | None, bool]:
    """The clock that Spark wakes it by, and whether it does anything when a timer is due. By the clock on the wall a query has batches
    without end, so only what needs it goes by that."""
    keyed = operator.step(enters).keyed
    assert keyed is not None
    step = keyed(id)
    made = step.operator
    fires = type(made).on_timer is not KeyedOperator.on_timer
    by: Kind = made.timers_by or ("event" if watermark else "processing")
    if by == "event" or not (fires or "processing" in step.expires_by):
        return ("event" if watermark else None), fires
    return by, fires


def _of_operator(initial: DataFrame, id: str) -> DataFrame:
    return initial.where(F.col("operator") == id).select(F.col("group").alias(GROUP), "entry", "value")


def _named(name: str, frame: DataFrame) -> DataFrame:
    return frame.withColumn(INPUT, F.lit(name))


def _given(frame: DataFrame, native: Keyed, id: str) -> DataFrame:
    """With the key of state, as the bytes that it has in tasks. Without Spark's mark on the column of event time: by that it would leave
    out rows that are late, which tasks do not."""
    plain = [column(name).alias(name, metadata={}) for name in frame.columns]
    now = F.unix_millis(F.current_timestamp())
    return frame.select(*plain, _key(frame, native, id).alias(GROUP), now.alias(NOW))


def _key(frame: DataFrame, native: Keyed, id: str) -> Any:
    if native.key:
        return key_of([(column(name), frame.schema[name].dataType) for name in native.key], of_step=False)
    if carries(frame):
        return F.col(KEY)
    raise PipelineError(
        f"'{id}' keeps state by the record's own key, and what comes to it has none",
        hint="name the columns: `key: [...]`",
        code="host",
    )


def _struct(frame: DataFrame, leaves: Schema, id: str, native: Keyed) -> StructType:
    carried = [StructField(f.name, f.dataType) for f in frame.schema.fields if f.name in hidden(frame)]
    left = [field for field in carried if field.name not in (EVENT, INPUT, CHOICE)]
    choice = [StructField(CHOICE, StringType())] if native.outputs else []
    return StructType([*left, *choice, *struct_of(leaves, id).fields])
