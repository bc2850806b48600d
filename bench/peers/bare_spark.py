"""usage: bare_spark.py BROKER SOURCE SINK CHECKPOINT_DIR JARS MAX_OFFSETS

Copies bytes by micro-batches, at least once, until stopped.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main(broker: str, source: str, sink: str, checkpoint: str, jars: str, max_offsets: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("bare_spark")
        .config("spark.jars", jars)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", max_offsets)
        .load()
        .select("key", "value")
    )
    (
        records.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("topic", sink)
        .option("checkpointLocation", checkpoint)
        .option("kafka.compression.type", "lz4")
        .option("kafka.batch.size", str(256 * 1024))
        .option("kafka.linger.ms", "5")
        .start()
        .awaitTermination()
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
