"""What is more than one row at a time: SQL over views, and each value once. A record's key, time and headers end here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from whorl.operators.loading import load
from whorl.operators.native import Query, Unique
from whorl.operators.operator import OperatorType
from whorl.operators.sql import INPUT
from whorl.operators.sqltext import interval, quoted
from whorl.plan.plan import Wire
from whorl.query.schemas import spark_type

_DELAY = "spark.watermarkDelayMs"


def table_names(operator: OperatorType, wires: Sequence[Wire]) -> dict[Wire, str]:
    """What SQL calls each thing that comes in: its id, also where it arrives through a topic of another name."""
    direct = {wire: f"{wire.source}_{wire.output}" if wire.output else wire.source for wire in wires}
    wanted = [upstream.table for upstream in operator.upstreams]
    rest = [table for table in wanted if table not in direct.values()]
    foreign = [wire for wire, table in direct.items() if wanted and table not in wanted]
    return direct | dict(zip(foreign, rest, strict=False))


def query_step(session: SparkSession, native: Query, tables: Mapping[str, DataFrame]) -> DataFrame:
    before = _views(session)
    views = {name: _late(frame, native) for name, frame in tables.items()}
    if len(views) == 1:
        views[INPUT] = next(iter(views.values()))
    for name, frame in views.items():
        frame.createOrReplaceTempView(quoted(name))
    for name, path, kind in native.udfs:
        session.udf.register(name, load(path), spark_type(kind))
    try:
        return [session.sql(statement) for statement in native.statements][-1]
    finally:
        # The plan is made: another step of the component may use the same names.
        for name in _views(session) - before:
            session.catalog.dropTempView(name)


def _views(session: SparkSession) -> set[str]:
    return {row["viewName"] for row in session.sql("SHOW VIEWS").collect() if row["isTemporary"]}


def _late(frame: DataFrame, native: Query) -> DataFrame:
    if native.watermark is None or not frame.isStreaming or has_watermark(frame):
        return frame
    column, delay = native.watermark
    return frame.withWatermark(column, interval(delay)) if column in frame.columns else frame


def has_watermark(frame: DataFrame) -> bool:
    return any(_DELAY in field.metadata for field in frame.schema.fields)


def unique_step(native: Unique, frame: DataFrame) -> DataFrame:
    rows = frame.select(*map(quoted, native.columns)) if native.narrow else frame
    names = list(native.columns) or None
    return rows.dropDuplicatesWithinWatermark(names) if native.within_watermark else rows.dropDuplicates(names)
