"""usage: bare_session.py: starts a Spark session, says `ready`, ends."""

from __future__ import annotations

from pyspark.sql import SparkSession

if __name__ == "__main__":
    session = (
        SparkSession.builder.master("local[2]")
        .appName("bare_session")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    print("ready", flush=True)
    session.stop()
