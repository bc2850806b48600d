"""Where rows come from: Kafka, files and the rate source, as streams or, for a batch that is read again, at rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from whorl.config.spec import FileSource, KafkaSource, RateSource
from whorl.config.stores import DeltaSource, HiveSource, JdbcSource
from whorl.errors import PipelineError
from whorl.plan.plan import Input
from whorl.query import frames
from whorl.query.decode import CORRUPT, decoded, lines
from whorl.query.latency import with_times
from whorl.query.located import located
from whorl.query.pace import least
from whorl.query.schemas import struct_of
from whorl.query.stores.sources import table_rows

Offsets = Mapping[str, Mapping[int, int]]
"""By topic and partition."""
_EARLIEST = -2


@dataclass(frozen=True)
class Reading:
    """What is known at a start, or of one batch."""

    address: str
    topics: Mapping[str, tuple[str, ...]]
    """By input: the topics it reads."""
    starts: Mapping[str, Offsets]
    """By input: where each partition begins."""
    partitions: Mapping[str, int]
    """Of every topic that is written."""
    dead_letter: str
    kafka: Mapping[str, str] = field(default_factory=dict)
    """Options of Spark's Kafka client, with their prefix `kafka.`."""
    ends: Mapping[str, Offsets] | None = None
    """By input: where each partition ends, of a batch that is read again; None: a stream."""
    max_per_batch: int | None = None
    snapshots: str = ""
    """The folder for copies of what is read once and lies where it could change."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """By input: records of a batch, by the pace that it is to keep; a lower one of the pipeline's own goes before."""
    timed: bool = False
    """Whether the times of records are noted, for latency."""


def stream_of(session: SparkSession, input: Input, reading: Reading, *, headers: bool) -> DataFrame:
    """The rows of an input, with what they carry. Those that cannot be read have an error."""
    match input.source:
        case FileSource() as source:
            return _files(session, input, source)
        case JdbcSource() | DeltaSource() | HiveSource():
            return frames.from_nowhere(table_rows(session, input, reading.snapshots))
        case RateSource() as source:
            return _rate(session, input, source)
        case _:
            return decoded(_kafka(session, input, reading, headers), input)


def _kafka(session: SparkSession, input: Input, reading: Reading, headers: bool) -> DataFrame:
    options = {**_common(reading, headers), **_range(input, reading)}
    reader: Any = session.readStream if reading.ends is None else session.read
    loaded: DataFrame = reader.format("kafka").options(**options).load()
    if reading.timed and reading.ends is None:
        loaded = with_times(loaded, input.id)
    carried = [
        F.col("key").alias(frames.KEY),
        F.col("key").alias(frames.CAME),
        F.col("value").alias(frames.VALUE),
        F.col("topic").alias(frames.TOPIC),
        F.col("partition").alias(frames.PARTITION),
        F.col("offset").alias(frames.OFFSET),
        F.unix_millis("timestamp").alias(frames.TIME),
    ]
    return loaded.select(*carried, *([F.col("headers").alias(frames.HEADERS)] if headers else []))


def _common(reading: Reading, headers: bool) -> dict[str, str]:
    return {
        **reading.kafka,
        "kafka.bootstrap.servers": reading.address,
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "includeHeaders": str(headers).lower(),
    }


def _range(input: Input, reading: Reading) -> dict[str, str]:
    starts = reading.starts[input.id]
    if reading.ends is not None:
        return range_options(starts, reading.ends[input.id])
    own = input.source.max_per_batch if isinstance(input.source, KafkaSource) else None
    most = least(own or reading.max_per_batch, reading.bounds.get(input.id))
    bound = {"maxOffsetsPerTrigger": str(most)} if most else {}
    topics = reading.topics[input.id]
    return {"subscribe": ",".join(topics), "startingOffsets": json.dumps(_whole(starts, topics, reading)), **bound}


def _whole(starts: Offsets, topics: Iterable[str], reading: Reading) -> dict[str, dict[int, int]]:
    """Spark wants a start for every partition: one that came after the others were fixed begins at its beginning."""
    known = {topic: range(reading.partitions.get(topic, 0)) for topic in topics}
    return {
        topic: {p: starts.get(topic, {}).get(p, _EARLIEST) for p in {*starts.get(topic, {}), *there}}
        for topic, there in known.items()
    }


def range_options(starts: Offsets, ends: Offsets) -> dict[str, str]:
    """A partition that is new in this batch begins at its beginning."""
    known = {
        topic: {partition: starts.get(topic, {}).get(partition, _EARLIEST) for partition in partitions}
        for topic, partitions in ends.items()
    }
    assigned = {topic: list(partitions) for topic, partitions in ends.items()}
    return {
        "assign": json.dumps(assigned),
        "startingOffsets": json.dumps(known),
        "endingOffsets": json.dumps(ends),
    }


def _files(session: SparkSession, input: Input, source: FileSource) -> DataFrame:
    reader: Any = session.read if source.static else session.readStream
    reader = reader.format(source.format).options(**source.file_options)
    if source.max_files:
        reader = reader.option("maxFilesPerTrigger", str(source.max_files))
    schema = source.output()
    if schema is None:
        return frames.from_nowhere(reader.load(located(source.path)))
    if source.format not in ("json", "csv", "xml"):
        return frames.from_nowhere(reader.schema(struct_of(schema, input.id)).load(located(source.path)))
    reader = reader.schema(struct_of(schema, input.id).add(CORRUPT, "string"))
    rows = reader.options(mode="PERMISSIVE", columnNameOfCorruptRecord=CORRUPT).load(located(source.path))
    return lines(rows, input)


def _rate(session: SparkSession, input: Input, source: RateSource) -> DataFrame:
    if source.rows_per_second != int(source.rows_per_second):
        raise PipelineError(
            f"'{input.id}' gives {source.rows_per_second:g} rows a second, which a query cannot",
            hint="give a whole number, or run it in tasks (host: tasks)",
        )
    reader = session.readStream.format("rate").option("numPartitions", source.partitions)
    rows = reader.option("rowsPerSecond", int(source.rows_per_second)).load()
    return frames.from_nowhere(rows.select("value", "timestamp"))
