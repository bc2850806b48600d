"""usage: bare_query.py KIND BROKER SOURCE SINK CHECKPOINT_DIR JARS MASTER MAX_OFFSETS

The work of the query and count benchmarks in hand-written PySpark, at least once, until stopped. KIND: sql, window, batch,
ten, realtime, per_key.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

PAYMENT = "id long, account string, amount double, country string, note string"
TIMED = "account string, amount double, at timestamp"
STAMPED = "account string, amount double, sent long"
STATE = "spark.sql.streaming.stateStore"
LARGE_REQUESTS = {"kafka.compression.type": "lz4", "kafka.batch.size": str(256 * 1024), "kafka.linger.ms": "5"}
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-Xss8m -XX:+UseSerialGC",
    "spark.ui.showConsoleProgress": "false",
    "spark.locality.wait": "0",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE}.checkpointFormatVersion": "2",
}


def main(kind: str, broker: str, source: str, sink: str, checkpoint: str, jars: str, master: str, most: str) -> None:
    builder = SparkSession.builder.appName(f"bare_{kind}").master(master).config("spark.jars", jars)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
    )
    records = (reader if kind == "realtime" else reader.option("maxOffsetsPerTrigger", most)).load()
    kafka = {"kafka.bootstrap.servers": broker, "topic": sink, **({} if kind == "realtime" else LARGE_REQUESTS)}
    kinds = {"sql": sql, "ten": ten, "window": window, "batch": batch, "realtime": realtime, "per_key": per_key}
    query = kinds[kind](records, kafka)
    query.option("checkpointLocation", checkpoint).start().awaitTermination()


def sql(records: DataFrame, kafka: dict[str, str]) -> Any:
    return large_payments(records).writeStream.format("kafka").options(**kafka)


def ten(records: DataFrame, kafka: dict[str, str]) -> Any:
    rows = (
        read(records, PAYMENT)
        .where("amount > 250")
        .withColumn("total", F.expr("amount * 1.19"))
        .withColumn("id", F.col("id").cast("string"))
        .fillna({"note": "none", "country": "unknown"})
        .withColumnRenamed("country", "land")
        .withColumn("account", F.sha2("account", 256))
        .withColumns({"land": F.upper("land"), "size": F.when(F.col("total") > 1000, "large").otherwise("small")})
        .where("length(land) > 0")
        .drop("note")
        .select("key", "id", "account", "total", "land", "size")
    )
    return written(rows).writeStream.format("kafka").options(**kafka)


def batch(records: DataFrame, kafka: dict[str, str]) -> Any:
    def write(rows: DataFrame, number: int) -> None:
        rows.write.format("kafka").options(**kafka).save()

    return large_payments(records).writeStream.foreachBatch(write)


def window(records: DataFrame, kafka: dict[str, str]) -> Any:
    sums = (
        read(records, TIMED)
        .withWatermark("at", "10 seconds")
        .groupBy("account", F.window("at", "1 minute").alias("window"))
        .agg(F.sum("amount").alias("total"))
        .select(F.col("account").alias("key"), "account", F.col("window.end").alias("until"), "total")
    )
    return written(sums).writeStream.format("kafka").options(**kafka)


def realtime(records: DataFrame, kafka: dict[str, str]) -> Any:
    rows = read(records, STAMPED).where("amount > 0").selectExpr("key", "account", "amount * 1.19 AS total", "sent")
    writer = written(rows).writeStream.format("kafka").options(**kafka)
    return writer.outputMode("update").trigger(realTime="5 minutes")


def per_key(records: DataFrame, kafka: dict[str, str]) -> Any:
    amounts = records.selectExpr("CAST(key AS string) AS key", "CAST(CAST(value AS string) AS long) AS amount")
    totals = amounts.groupBy("key").transformWithState(Totals(), "key string, value string", "Update", "None")
    return totals.writeStream.format("kafka").options(**kafka).outputMode("update")


class Totals(StatefulProcessor):
    """A line `count,sum` for each record; the state is read and written once for all records of a key in a batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", "count long, sum long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count, total = self._total.get() or (0, 0)
        for row in rows:
            count, total = count + 1, total + row.amount
            yield Row(key=key[0], value=f"{count},{total}")
        self._total.update((count, total))

    def close(self) -> None:
        """Nothing to close."""


def large_payments(records: DataFrame) -> DataFrame:
    rows = read(records, PAYMENT).where("amount > 250")
    return written(rows.selectExpr("key", "id", "account", "amount * 1.19 AS total", "country"))


def read(records: DataFrame, schema: str) -> DataFrame:
    row = F.from_json(F.col("value").cast("string"), schema).alias("row")
    return records.select("key", row).select("key", "row.*")


def written(rows: DataFrame) -> DataFrame:
    columns = [name for name in rows.columns if name != "key"]
    return rows.select("key", F.to_json(F.struct(*columns)).alias("value"))


if __name__ == "__main__":
    main(*sys.argv[1:])
