"""State that Spark keeps for a component in a query, from its checkpoint, in the same columns as that of tasks.

Its state is by rows of columns, so keys and values are JSON objects; `position` is the last batch that Spark took as done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql.functions import col, encode, lit, struct, to_json

from whorl.errors import WorldError
from whorl.query.checkpoint import Checkpoint, gone
from whorl.query.pins import session_settings
from whorl.query.processor import MAPS

_JOIN = "symmetricHashJoin"
_KEYED = "transformWithState"
_ENTRIES = "group binary, entry binary, value binary"
_FORM = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def keyed_entries(spark: SparkSession, checkpoint: Checkpoint) -> DataFrame:
    """What operators with state by key keep in a query, as tasks have it in their changelog: `group` (the key), `entry` and `value`."""
    with _as_it_was_written(spark):
        frames = [
            spark.read.format("statestore")
            .options(operatorId=str(store.operatorId), stateVarName=map, flattenCollectionTypes="true")
            .load(checkpoint.path)
            .selectExpr("key.*", "user_map_key.entry AS entry", "user_map_value.value AS value")
            .toDF("group", "entry", "value")
            for store in _stores(spark, checkpoint)
            if store.operatorName.startswith(_KEYED)
            for map in MAPS
        ]
    return reduce(DataFrame.unionByName, frames) if frames else spark.createDataFrame([], _ENTRIES)


def _stores(spark: SparkSession, checkpoint: Checkpoint) -> list[Row]:
    found = spark.read.format("state-metadata").load(checkpoint.path).dropDuplicates(["operatorId"]).collect()
    return sorted(found, key=lambda store: int(store.operatorId))


def checkpoint_frame(spark: SparkSession, checkpoint: Checkpoint, component: str) -> DataFrame:
    """All that the query keeps; as `state` Spark's word for it."""
    if checkpoint.manifest() is None:
        raise gone(component, checkpoint.path)
    batch = checkpoint.progress().committed
    if batch < 0:
        raise _nothing(component, "has not finished a batch yet")
    with _as_it_was_written(spark):
        frames = [
            _frame(spark, checkpoint.path, options).select(*_columns(component, state, batch))
            for store in _stores(spark, checkpoint)
            for state, options in _parts(store)
        ]
    if not frames:
        raise _nothing(component, "looks at each row alone")
    return reduce(DataFrame.unionByName, frames)


@contextmanager
def _as_it_was_written(spark: SparkSession) -> Iterator[None]:
    """Spark looks into the session for the form of a checkpoint, not into the checkpoint; and tasks that open a store ask for its coordinator,
    which comes with the first look at the session's streams."""
    _ = spark.streams
    before, ours = spark.conf.get(_FORM), session_settings()[_FORM]
    spark.conf.set(_FORM, ours)
    try:
        yield
    finally:
        spark.conf.set(_FORM, str(before))


def _nothing(component: str, why: str) -> WorldError:
    return WorldError(f"component '{component}' keeps no state: it runs in a query that {why}", code="state-operator")


def _parts(store: Row) -> Iterator[tuple[str, dict[str, str]]]:
    """A join keeps the rows of either side."""
    options = {"operatorId": str(store.operatorId)}
    if store.operatorName != _JOIN:
        yield store.operatorName, options
        return
    for side in ("left", "right"):
        yield f"{store.operatorName} {side}", {**options, "joinSide": side}


def _frame(spark: SparkSession, path: str, options: dict[str, str]) -> DataFrame:
    return spark.read.format("statestore").options(**options).load(path)


def _columns(component: str, state: str, batch: int) -> list[Column]:
    key = _as_json("key")
    return [
        lit(component).alias("operator"),
        lit(state).alias("state"),
        key.alias("key"),
        encode(key, "UTF-8").alias("key_bytes"),
        lit(None).cast("string").alias("map_key"),
        _as_json("value").alias("value"),
        lit(None).cast("timestamp").alias("expires"),
        col("partition_id").alias("logical_partition"),
        lit(batch).cast("long").alias("position"),
    ]


def _as_json(column: str) -> Column:
    """Field by field: rows of a join have more in them than Spark says."""
    return to_json(struct(f"{column}.*"))
