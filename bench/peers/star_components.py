"""usage: star_components.py BROKER JARS MASTER WARM_UP_TOPIC TOPIC FOLDER

Connected components in DataFrames by alternating large-star and small-star steps (Kiveris and others, 2014), as GraphFrames has them: from
a topic of edges to Parquet files of vertex and component. Says how long that took, in a session that has done it before with few edges.
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

EDGE = "src long, dst long"
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.driver.extraJavaOptions": "-Xss8m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.locality.wait": "0",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
}


def main(broker: str, jars: str, master: str, warm_up: str, topic: str, folder: str) -> None:
    builder = SparkSession.builder.appName("star_components").master(master).config("spark.jars", jars)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    written(components(edges_of(spark, broker, warm_up), f"{folder}/warming")[0], f"{folder}/warm-up")
    started = time.monotonic()
    found, iterations = components(edges_of(spark, broker, topic), f"{folder}/steps")
    written(found, f"{folder}/found")
    print(f"seconds={time.monotonic() - started:.2f} iterations={iterations}", flush=True)
    spark.stop()


def edges_of(spark: SparkSession, broker: str, topic: str) -> DataFrame:
    records = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    return records.select(F.from_json(F.col("value").cast("string"), EDGE).alias("edge")).select("edge.*").persist()


def components(given: DataFrame, folder: str) -> tuple[DataFrame, int]:
    """In `edges` src < dst throughout; when no smallest neighbour changes any more, each vertex has one edge: from its component's name.

    Each step's edges go to files, as GraphFrames does it too: Spark multiplies the sizes it expects of joins over local checkpoints, and after
    a dozen steps planning took minutes."""
    vertices = given.select(F.col("src").alias("id")).union(given.select("dst")).distinct().persist()
    edges = given.select(F.least("src", "dst").alias("src"), F.greatest("src", "dst").alias("dst"))
    edges = cut(edges.where("src < dst").distinct(), f"{folder}/0")
    before, iterations = None, 0
    while True:
        iterations += 1
        smallest = large_neighbours(edges).persist()
        large = edges.join(smallest, "src").select(F.col("dst").alias("src"), F.col("least").alias("dst")).distinct()
        large = large.persist()
        small = large.groupBy("src").agg(F.min("dst").alias("least")).persist()
        across = large.join(small, "src").select(F.col("least").alias("src"), "dst").where("src != dst")
        edges = across.union(small.select(F.col("least").alias("src"), F.col("src").alias("dst")))
        edges = cut(edges.distinct(), f"{folder}/{iterations}")
        now = smallest.agg(F.sum(F.col("least").cast("decimal(38,0)")), F.count("*")).first()
        for each in (smallest, large, small):
            each.unpersist()
        if now == before:
            break
        before = now
    named = vertices.join(edges, vertices["id"] == edges["dst"], "left")
    return named.select(F.col("id").alias("vertex"), F.coalesce("src", "id").alias("component")), iterations


def large_neighbours(edges: DataFrame) -> DataFrame:
    """Of each vertex the smallest among its neighbours and itself."""
    both = edges.union(edges.select(F.col("dst").alias("src"), F.col("src").alias("dst")))
    return both.groupBy("src").agg(F.min("dst").alias("least")).select("src", F.least("src", "least").alias("least"))


def cut(edges: DataFrame, folder: str) -> DataFrame:
    written(edges, folder)
    return edges.sparkSession.read.parquet(folder)


def written(found: DataFrame, folder: str) -> None:
    found.write.parquet(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
