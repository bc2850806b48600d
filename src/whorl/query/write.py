"""What leaves for topics: every output and the dead letters as rows of one frame, so that a batch is one action.

    output int, partition int, key binary, value binary [, timestamp long] [, headers array<struct<key:string,value:binary>>]

`output` is an index into the topics; a null partition means by key, a timestamp that is null or 0 means now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from whorl.plan import naming
from whorl.plan.plan import Output
from whorl.query.encode import encoded
from whorl.query.frames import (
    CAME,
    ERROR,
    FAILED,
    HEADER_TYPE,
    HEADERS,
    KEY,
    OFFSET,
    ON,
    PARTITION,
    SKIPPED,
    TIME,
    TOPIC,
    VALUE,
    column,
    guarded,
)  # fmt: skip
from whorl.query.texts import key_of

_TYPES = {
    "output": "int", "partition": "int", "key": "binary", "value": "binary", "timestamp": "long", "headers": HEADER_TYPE,
}  # fmt: skip
Entry = dict[str, Column]


@dataclass(frozen=True)
class Topics:
    """What is written, and by which number."""

    names: tuple[str, ...]
    partitions: Mapping[str, int]
    dead_letter: str
    skips: bool = False
    """Whether there may be rows that are to be left out in silence."""

    def number(self, topic: str) -> Column:
        return F.lit(self.names.index(topic))


def entry(frame: DataFrame, output: Output, topics: Topics) -> Entry:
    """A row as a record of this output."""
    there = frame.columns
    parts: Entry = {"output": topics.number(output.topic), "value": encoded(frame, output)}
    if output.key:
        parts["key"] = key_of([(column(name), frame.schema[name].dataType) for name in output.key], of_step=False)
    elif KEY in there:
        parts["key"] = F.col(KEY)
    if not output.keyed and PARTITION in there:
        parts["partition"] = F.col(PARTITION) % topics.partitions[output.topic]
    if TIME in there:
        parts["timestamp"] = _time()
    if output.headers and HEADERS in there:
        parts["headers"] = F.col(HEADERS)
    return parts


def _time() -> Column:
    return F.greatest(F.col(TIME), F.lit(0))


def dead_entry(frame: DataFrame, topics: Topics) -> Entry:
    """A row that failed: the record as it came, with what failed and where in its headers, as on the other host."""
    there = frame.columns
    places = {naming.DEAD_TOPIC: TOPIC, naming.DEAD_PARTITION: PARTITION, naming.DEAD_OFFSET: OFFSET}
    said = {naming.DEAD_OPERATOR: F.col(FAILED), naming.DEAD_ERROR: F.substring(F.col(ERROR), 1, naming.LONGEST_ERROR)}
    said |= {name: F.col(each) for name, each in places.items() if each in there}
    # A timer that failed has no place.
    reasons = F.filter(
        F.array(*[_header(name, each) for name, each in said.items()]), lambda each: each.value.isNotNull()
    )
    own = [F.coalesce(F.col(HEADERS), F.array().cast(HEADER_TYPE))] if HEADERS in there else []
    parts: Entry = {
        "output": topics.number(topics.dead_letter),
        "value": F.col(VALUE),
        "headers": F.concat(*own, reasons),
    }
    if CAME in there:
        parts |= {"key": F.col(CAME), "timestamp": _time()}
    return parts


def _header(name: str, value: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))


def records(frame: DataFrame, output: Output, topics: Topics) -> DataFrame:
    """Every row is one record: of the output, or a dead letter."""
    made = entry(frame, output, topics)
    if ERROR not in frame.columns:
        return frame.select(*_typed(made, made))
    dead = dead_entry(frame, topics)
    names = [name for name in _TYPES if name in made or name in dead]
    failed = F.col(ERROR).isNotNull()
    both = {name: F.when(failed, _of(dead, name)).otherwise(_of(made, name)) for name in names}
    return _heard(frame, topics).select(*_typed(both, names))


def all_records(frame: DataFrame, entries: Sequence[str], topics: Topics) -> DataFrame:
    """Every row is as many records as it has entries that are not null, or one dead letter."""
    dead = dead_entry(frame, topics)
    letter = F.array(packed(dead))
    made = F.filter(F.array(*[F.col(name) for name in entries]), lambda each: each.isNotNull())
    return _heard(frame, topics).select(F.inline(F.when(F.col(ERROR).isNotNull(), letter).otherwise(made)))


def dead_records(frame: DataFrame, topics: Topics) -> DataFrame:
    made = dead_entry(frame, topics)
    return frame.where(F.col(ERROR) != SKIPPED).select(*_typed(made, _TYPES))


def packed(made: Entry) -> Column:
    """All of an entry in one struct, for frames in which a row may be several records."""
    return F.struct(*_typed(made, _TYPES))


def on_its_way(frame: DataFrame, made: Entry) -> Column:
    return guarded(frame, packed(made)) if ERROR in frame.columns or ON in frame.columns else packed(made)


def _heard(frame: DataFrame, topics: Topics) -> DataFrame:
    return frame.where(F.col(ERROR).isNull() | (F.col(ERROR) != SKIPPED)) if topics.skips else frame


def _of(made: Entry, name: str) -> Column:
    return made.get(name, F.lit(None)).cast(_TYPES[name])


def _typed(made: Entry, names: Mapping[str, object] | Sequence[str]) -> list[Column]:
    wanted = [name for name in _TYPES if name in names or name in ("output", "partition", "key", "value")]
    return [_of(made, name).alias(name) for name in wanted]
