"""What the Spark session needs for the tables and databases of a pipeline: jars, and settings that it takes only when it starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whorl.config.settings import HiveSettings
from whorl.config.stores import Database
from whorl.jvm.jars import DELTA, POSTGRESQL, JarSet
from whorl.plan.plan import Plan

DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "4",  # Delta's own 50 are tasks of nothing for most tables
}


def jars_of(plan: Plan) -> Iterator[JarSet]:
    if "delta" in _types(plan):
        yield DELTA
    if any(isinstance(node.what, Database) and node.what.is_postgresql for node in plan.graph.nodes.values()):
        yield POSTGRESQL


def store_settings(plan: Plan) -> dict[str, str]:
    delta = DELTA_SETTINGS if "delta" in _types(plan) else {}
    return {**delta, **(hive_settings(plan.settings.hive) if "hive" in _types(plan) else {})}


def hive_settings(hive: HiveSettings) -> dict[str, str]:
    if hive.metastore:
        own = {"spark.hadoop.hive.metastore.uris": hive.metastore}
    else:
        folder = Path(hive.derby).absolute()
        folder.parent.mkdir(parents=True, exist_ok=True)
        own = {"spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder};create=true"}
    where = hive.warehouse if "://" in hive.warehouse else f"file:{Path(hive.warehouse).absolute()}"
    return {"spark.sql.catalogImplementation": "hive", "spark.sql.warehouse.dir": where, **own}


def _types(plan: Plan) -> set[str]:
    return {node.type for node in plan.graph.nodes.values()}
