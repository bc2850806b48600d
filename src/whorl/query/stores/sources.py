"""Rows of tables: as they are at the start, or, of Delta, as they are added.

What is read once must stay what it was from batch to batch. Delta keeps its versions; files of a Hive table are listed once; of a database a
copy is made beside the checkpoint.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from whorl.config.stores import DeltaSource, HiveSource, JdbcSource
from whorl.errors import PipelineError
from whorl.plan import naming
from whorl.plan.plan import Input
from whorl.query.frames import column
from whorl.query.located import located
from whorl.query.schemas import spark_type
from whorl.query.stores.delta import delta_version
from whorl.query.stores.postgresql import Connection, Failed, told

_FETCH = "10000"


def table_rows(session: SparkSession, input: Input, snapshots: str) -> DataFrame:
    match input.source:
        case JdbcSource() as source:
            rows = _jdbc(session, input.id, source, snapshots)
        case DeltaSource() as source:
            rows = _delta(session, source)
        case HiveSource() as source:
            rows = session.table(source.table)
        case _:
            raise TypeError(f"'{input.id}' is no table")
    return _declared(rows, input)


def _declared(rows: DataFrame, input: Input) -> DataFrame:
    """With the columns and types that the source declares, where it does."""
    if input.schema is None:
        return rows
    missing = [name for name in input.schema.names if name.lower() not in {each.lower() for each in rows.columns}]
    if missing:
        message = f"'{input.id}' has no column '{missing[0]}'; it has {', '.join(rows.columns)}"
        raise PipelineError(message, hint="see `schema` of the source", code="column")
    return rows.select(*[column(name).cast(spark_type(kind)).alias(name) for name, kind in input.schema])


def _delta(session: SparkSession, source: DeltaSource) -> DataFrame:
    path = located(source.path)
    if not source.static:
        reader: Any = session.readStream.format("delta")
        bound = reader.option("maxFilesPerTrigger", str(source.max_files)) if source.max_files else reader
        streamed: DataFrame = bound.load(path)
        return streamed
    version = delta_version(session, path)
    if version is None:
        raise PipelineError(
            f"there is no Delta table in '{source.path}'", hint="see `path` of the source", code="store"
        )
    return session.read.format("delta").option("versionAsOf", str(version)).load(path)


def _jdbc(session: SparkSession, id: str, source: JdbcSource, snapshots: str) -> DataFrame:
    options = {"url": source.url, "user": source.user, "password": source.password, "fetchsize": _FETCH}
    options |= {"dbtable": source.table} if source.table else {"query": str(source.query)}
    options |= {"driver": "org.postgresql.Driver"} if source.is_postgresql else {}
    options |= {"driver": source.driver} if source.driver else {}
    if source.is_postgresql:
        _reached(session, id, source)
    there = session.read.format("jdbc").options(**{name: value for name, value in options.items() if value}).load()
    if not snapshots:
        return there
    copy = f"{snapshots}/{naming.slug(id)}"
    there.write.mode("overwrite").parquet(copy)
    return session.read.schema(there.schema).parquet(copy)


def _reached(session: SparkSession, id: str, source: JdbcSource) -> None:
    """Asked from here first: a task that cannot reach it would be tried again and again."""
    what = source.table or f"({source.query}) AS query"
    try:
        with closing(Connection(session, source)) as connection:
            connection.rows(f"SELECT 1 FROM {what} LIMIT 0")
    except Failed as failed:
        raise told(failed, source, source.table, f"source '{id}'") from None
