"""A fetch as a DataFrame, by Spark's own Kafka reader, and what is written back by its writer."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Place
from whorl.processor.spans import Span
from whorl.query.action import IN_BULK
from whorl.query.assignment import java_options
from whorl.query.read import range_options

COLUMNS = (
    "topic string, partition int, offset bigint, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>, timestamp timestamp"
)
_NAMES = ("topic", "partition", "offset", "key", "value", "headers", "timestamp")
_WRITTEN = ("key", "value", "headers", "partition")
_PLACE = ("topic", "partition", "offset")


def frame_of(session: SparkSession, clients: KafkaClients, group: str, span: Span) -> DataFrame:
    """With `kafka.group.id` Spark's executors find their consumers again in the next fetch; without it each read has new ones."""
    if not span.filled:
        return session.createDataFrame([], COLUMNS)
    options = {
        **java_options(clients),
        **range_options(_nested(span, span.starts), _nested(span, span.ends)),
        "kafka.group.id": group,
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
    }
    try:
        return session.read.format("kafka").options(**options).load().select(*_NAMES)
    except AnalysisException as error:
        if "kafka" not in str(error).lower():
            raise
        hint = "start it with StreamProcessor.session(...), or with the jars of Spark's Kafka connector in spark.jars"
        raise WorldError("this Spark session cannot read Kafka", code="spark", hint=hint) from None


def _nested(span: Span, offsets: dict[Place, int] | object) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for topic, partition in span.filled:
        found.setdefault(topic, {})[partition] = offsets[topic, partition]  # type: ignore[index]
    return found


def distinct(rows: DataFrame, by: str | Column) -> DataFrame:
    """Of those with the same id the first, by topic, partition and offset. A row without an id is like no other."""
    id = F.expr(by) if isinstance(by, str) else by
    marked = rows.withColumn("_whorl_id", id)
    number = F.row_number().over(Window.partitionBy("_whorl_id").orderBy(*_PLACE))
    first = marked.withColumn("_whorl_number", number).where("_whorl_id IS NULL OR _whorl_number = 1")
    return first.drop("_whorl_id", "_whorl_number")


def write_frame(rows: DataFrame, topic: str, clients: KafkaClients) -> None:
    as_records(rows).write.format("kafka").options(**IN_BULK, **java_options(clients), topic=topic).save()


def as_records(rows: DataFrame) -> DataFrame:
    """Where there is no column `value`, all but `key` are one, as JSON."""
    if "value" in rows.columns:
        return rows.select(*(name for name in _WRITTEN if name in rows.columns))
    value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns if name != "key"))).alias("value")
    return rows.select(value, *([F.col("key").cast("string")] if "key" in rows.columns else []))
