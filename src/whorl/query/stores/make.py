"""Which store a sink is."""

from __future__ import annotations

from pyspark.sql import SparkSession

from whorl.config.spec import SinkOptions
from whorl.config.stores import DeltaSink, HiveSink, HttpSink, JdbcSink
from whorl.query.stores.delta import DeltaStore
from whorl.query.stores.hive import HiveStore
from whorl.query.stores.http import HttpStore
from whorl.query.stores.postgresql import PostgreSqlStore
from whorl.query.stores.store import Store


def store_of(session: SparkSession, id: str, sink: SinkOptions | None) -> Store:
    match sink:
        case JdbcSink():
            return PostgreSqlStore(session, id, sink)
        case DeltaSink():
            return DeltaStore(session, id, sink)
        case HiveSink():
            return HiveStore(session, id, sink)
        case HttpSink():
            return HttpStore(id, sink)
    raise TypeError(f"{sink!r} is no store")
