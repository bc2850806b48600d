"""State that Spark keeps for a component in a query, from its checkpoint, in the same columns as that of tasks.

Its state is by rows of columns, so keys and values are JSON objects; `position` is the last batch that Spark took as done.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql.functions import col, encode, lit, to_json

from whorl.query.checkpoint import Checkpoint, gone

_JOIN = "symmetricHashJoin"


def checkpoint_frame(spark: SparkSession, checkpoint: Checkpoint, component: str) -> DataFrame:
    """All that the query keeps; as `state` Spark's word for it."""
    if checkpoint.manifest() is None:
        raise gone(component, checkpoint.path)
    batch = checkpoint.progress().committed
    stores = spark.read.format("state-metadata").load(checkpoint.path).dropDuplicates(["operatorId"]).collect()
    frames = [
        _frame(spark, checkpoint.path, options).select(*_columns(component, state, batch))
        for store in sorted(stores, key=lambda store: int(store.operatorId))
        for state, options in _parts(store)
    ]
    return reduce(DataFrame.unionByName, frames)


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
    key = to_json(col("key"))
    return [
        lit(component).alias("operator"),
        lit(state).alias("state"),
        key.alias("key"),
        encode(key, "UTF-8").alias("key_bytes"),
        lit(None).cast("string").alias("map_key"),
        to_json(col("value")).alias("value"),
        lit(None).cast("timestamp").alias("expires"),
        col("partition_id").alias("logical_partition"),
        lit(batch).cast("long").alias("position"),
    ]
