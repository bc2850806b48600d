"""Savepoints in any file system that Spark has."""

from __future__ import annotations

from pyspark.sql import SparkSession

from whorl.savepoints.catalog import Catalog
from whorl.spark.folder import Folder


def by_spark(session: SparkSession, root: str) -> Catalog[Folder]:
    return Catalog(root, lambda path: Folder(session, path, "savepoints"))
