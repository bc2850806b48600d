"""State that Spark keeps for a component in a query, from its checkpoint.

What operators with state by key keep is entries as tasks have them. All else is by rows of columns, so keys and values are JSON objects;
`position` is the last batch that Spark took as done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql.functions import col, encode, hex, lit, struct, substring_index, to_json

from whorl.errors import WorldError
from whorl.query.checkpoint import Checkpoint, gone
from whorl.query.pins import FORM, form_of
from whorl.query.processor import MAPS

_JOIN = "symmetricHashJoin"
_KEYED = "transformWithState"
_ENTRIES = "group binary, entry binary, value binary, partition int"


def keyed_entries(spark: SparkSession, checkpoint: Checkpoint) -> DataFrame:
    """What operators with state by key keep, as tasks have it in their changelog: `group` (the key), `entry`, `value` and `partition`."""
    return _keyed(spark, checkpoint, MAPS)


def keyed_operators(spark: SparkSession, checkpoint: Checkpoint) -> set[str]:
    """Those of which there are such entries, timers apart."""
    operator = substring_index(col("entry").cast("string"), "/", 1)
    return {row[0] for row in _keyed(spark, checkpoint, MAPS[:1]).select(operator).distinct().collect()}


def _keyed(spark: SparkSession, checkpoint: Checkpoint, maps: tuple[str, ...]) -> DataFrame:
    if checkpoint.progress().committed < 0 and checkpoint.has_initial:
        initial = spark.read.parquet(checkpoint.initial_path)
        return initial.select("group", "entry", "value", lit(0).alias("partition"))
    with _as_it_was_written(spark, checkpoint):
        frames = [
            _frame(spark, checkpoint.path, _options(store) | {"stateVarName": map, "flattenCollectionTypes": "true"})
            .selectExpr("key.*", "user_map_key.entry AS entry", "user_map_value.value AS value", "partition_id")
            .toDF("group", "entry", "value", "partition")
            for store in _stores(spark, checkpoint)
            if _is_keyed(store)
            for map in maps
        ]
    return reduce(DataFrame.unionByName, frames) if frames else spark.createDataFrame([], _ENTRIES)


def other_stores(spark: SparkSession, checkpoint: Checkpoint) -> list[str]:
    """What Spark calls those that are by rows of columns."""
    return [store.operatorName for store in _stores(spark, checkpoint) if not _is_keyed(store)]


def keeps_keyed(spark: SparkSession, checkpoint: Checkpoint) -> bool:
    return any(map(_is_keyed, _stores(spark, checkpoint)))


def _stores(spark: SparkSession, checkpoint: Checkpoint) -> list[Row]:
    if checkpoint.progress().committed < 0:
        return []
    found = spark.read.format("state-metadata").load(checkpoint.path).dropDuplicates(["operatorId"]).collect()
    return sorted(found, key=lambda store: int(store.operatorId))


def _is_keyed(store: Row) -> bool:
    return bool(store.operatorName.startswith(_KEYED))


def last_batch(checkpoint: Checkpoint, component: str) -> int:
    """The last that is done; raises where there is none, so that nothing can be read."""
    if checkpoint.manifest() is None:
        raise gone(component, checkpoint.path)
    batch = checkpoint.progress().committed
    if batch < 0:
        raise _nothing(component, "has not finished a batch yet")
    return batch


def checkpoint_frame(spark: SparkSession, checkpoint: Checkpoint, component: str) -> DataFrame | None:
    """All that the query keeps by rows of columns; as `state` Spark's word for it. None where it keeps nothing so."""
    batch = last_batch(checkpoint, component)
    with _as_it_was_written(spark, checkpoint):
        frames = [
            _frame(spark, checkpoint.path, options).select(*_columns(component, state, batch))
            for store in _stores(spark, checkpoint)
            if not _is_keyed(store)
            for state, options in _parts(store)
        ]
    return reduce(DataFrame.unionByName, frames) if frames else None


def all_rows(spark: SparkSession, checkpoint: Checkpoint, component: str) -> DataFrame:
    """All that the query keeps in any form, as `key` and `value`, to be counted and compared."""
    keyed = keyed_entries(spark, checkpoint).select(hex("entry").alias("key"), hex("value").alias("value"))
    others = checkpoint_frame(spark, checkpoint, component)
    return keyed if others is None else keyed.unionByName(others.select("key", "value"))


@contextmanager
def _as_it_was_written(spark: SparkSession, checkpoint: Checkpoint) -> Iterator[None]:
    """Spark looks into the session for the form of a checkpoint, not into the checkpoint; and tasks that open a store ask for its coordinator,
    which comes with the first look at the session's streams."""
    _ = spark.streams
    manifest = checkpoint.manifest()
    before = spark.conf.get(FORM)
    spark.conf.set(FORM, form_of(manifest.settings if manifest else {}))
    try:
        yield
    finally:
        spark.conf.set(FORM, str(before))


def keeps_nothing(component: str) -> WorldError:
    return _nothing(component, "looks at each row alone")


def _nothing(component: str, why: str) -> WorldError:
    return WorldError(f"component '{component}' keeps no state: it runs in a query that {why}", code="state-operator")


def _parts(store: Row) -> Iterator[tuple[str, dict[str, str]]]:
    """A join keeps the rows of either side."""
    options = _options(store)
    if store.operatorName != _JOIN:
        yield store.operatorName, options
        return
    for side in ("left", "right"):
        yield f"{store.operatorName} {side}", {**options, "joinSide": side}


def _options(store: Row) -> dict[str, str]:
    return {"operatorId": str(store.operatorId)}


def _frame(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
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
