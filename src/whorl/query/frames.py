"""Frames as they pass from node to node: the user's columns, and beside them hidden ones that a record carries along.

A row that failed has a message in `ERROR` and the operator's id in `FAILED`; it passes every later step unseen, and the writer sends it to
the dead-letter topic, or nowhere where the message is empty (`on_error: skip`). A frame without `KEY` carries nothing: what an
aggregation or a join made has no record that it came from.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_PREFIX = "__whorl_"
KEY = "__whorl_key"
CAME = "__whorl_came"
"""The key that the record came with, which stays where a step gives another."""
VALUE = "__whorl_value"
TOPIC = "__whorl_topic"
PARTITION = "__whorl_partition"
OFFSET = "__whorl_offset"
TIME = "__whorl_time"
HEADERS = "__whorl_headers"
ERROR = "__whorl_error"
FAILED = "__whorl_failed"
ON = "__whorl_on"
"""Whether the row is on the way being followed, where several ways share one frame (`whorl.query.ways`)."""
CHOICE = "__whorl_choice"
"""The output that a row goes to, of an operator with several."""
EVENT = "__whorl_event"
"""The event time of the record less the delay of its source, in ms: how far it moves the watermark."""
INPUT = "__whorl_input"
"""Which of several inputs of an operator with state a row comes from."""
ENCODED = "__whorl_encoded"
"""What Python made of the row: `value` and `error`."""
SKIPPED = ""
HEADER_TYPE = "array<struct<key:string,value:binary>>"
_TYPES = {
    KEY: "binary", CAME: "binary", VALUE: "binary", TOPIC: "string", PARTITION: "int", OFFSET: "long", TIME: "long",
    HEADERS: HEADER_TYPE, ERROR: "string", FAILED: "string",
}  # fmt: skip
CARRIED = (*_TYPES, EVENT, INPUT)
OF_THE_RECORD = (CAME, VALUE, TOPIC, PARTITION, OFFSET, HEADERS, ERROR, FAILED)
"""What only a dead letter is made of."""


def from_nowhere(rows: DataFrame, **given: Column) -> DataFrame:
    """Rows that were no record of Kafka: what they carry is null, but for what is given."""
    carried = [given.get(name, F.lit(None).cast(kind)).alias(name) for name, kind in _TYPES.items()]
    return rows.select(*carried, *columns(visible(rows)))


def hidden(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith(_PREFIX)]


def visible(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if not name.startswith(_PREFIX)]


def column(name: str) -> Column:
    """By its whole name, whatever characters it has."""
    return F.col("`" + name.replace("`", "``") + "`")


def columns(names: list[str]) -> list[Column]:
    return [column(name) for name in names]


def carries(frame: DataFrame) -> bool:
    return KEY in frame.columns


def without_hidden(frame: DataFrame) -> DataFrame:
    return frame.select(*columns(visible(frame)))


def alive(frame: DataFrame) -> Column | None:
    """Whether a row is to be looked at at all; None: every row is."""
    names = frame.columns
    good = F.col(ERROR).isNull() if ERROR in names else None
    if ON not in names:
        return good
    return F.col(ON) if good is None else good & F.col(ON)


def guarded(frame: DataFrame, made: Column) -> Column:
    """`made` for rows that are alive; for others it is not computed."""
    living = alive(frame)
    return made if living is None else F.when(living, made)


def keep(frame: DataFrame, condition: Column) -> DataFrame:
    """The rows for which it is true, and those that failed before."""
    if ON in frame.columns:
        return frame.withColumn(ON, F.coalesce(guarded(frame, condition), F.lit(False)))
    return frame.where(F.col(ERROR).isNotNull() | condition if ERROR in frame.columns else condition)


def good(frame: DataFrame) -> DataFrame:
    return frame.where(F.col(ERROR).isNull()) if ERROR in frame.columns else frame


def once(made: Column) -> Column:
    """The same, computed once and there: Spark puts a deterministic expression again wherever a filter or another column uses it."""
    return F.when(F.spark_partition_id() >= 0, made)
