"""State as a DataFrame. Executors read and decode it, one Spark partition for each logical partition (lp)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from pyarrow import RecordBatch
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from whorl.config.framework import named
from whorl.jobs.address import clients_at
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.reading.arrow import SCHEMA, batches
from whorl.reading.latest import Wanted, latest
from whorl.reading.queries import QueryReader
from whorl.reading.reader import StateReader


def read_state(
    spark: SparkSession, pipeline: str | Path, operator: str, broker: str | None = None, profile: str | None = None
) -> DataFrame:
    """What an operator keeps by key, as it is committed when the frame is computed: each action reads anew.

    `pipeline` is its name or its file. The broker is the one given, else that of the settings, else this folder's own. Columns:
    operator, state, key (and key_bytes), map_key, value (JSON), expires, logical_partition, position (offset in the changelog).
    Of SQL that runs in a query, name the component, which is called after its first operator.
    """
    name, settings = named(str(pipeline), profile)
    clients = clients_at(broker, settings)
    reader = StateReader.on(Cluster(clients), name)
    if reader.stores.in_a_query(operator):
        return QueryReader(spark, reader.stores, settings.checkpoints).frame(operator)
    log = reader.changelog(operator)
    lps = spark.range(0, log.lps, 1, log.lps)
    read = partial(_read, clients, log.topic, Wanted(operator))
    return lps.mapInArrow(read, from_arrow_schema(SCHEMA))


def _read(clients: KafkaClients, topic: str, wanted: Wanted, lps: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    for some in lps:
        for lp in some.column("id").to_pylist():
            yield from batches(latest(clients, topic, lp, wanted).entries())
