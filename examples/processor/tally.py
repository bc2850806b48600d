"""Sales, at most four at a time: each of them once, by its id; a line for each shop; what each shop took goes to the topic 'tallies'."""

from __future__ import annotations

import sys

from pyspark.sql import functions as F

from whorl import StreamProcessor

SALE = "id string, shop string, euros double"


class Tally(StreamProcessor):
    def process(self) -> None:
        sales = self.fetch(distinct_by="get_json_object(CAST(value AS STRING), '$.id')")
        parsed = sales.select(F.from_json(F.col("value").cast("string"), SALE).alias("sale")).select("sale.*")
        tallies = parsed.groupBy("shop").agg(F.count("*").alias("sales"), F.sum("euros").alias("euros")).cache()
        for row in tallies.orderBy("shop").collect():
            print(f"{row.shop}: {row.sales} sales, {row.euros:.2f} euros", flush=True)
        self.write(tallies.withColumn("key", F.col("shop")), "tallies")
        tallies.unpersist()
        self.commit()
        print(f"committed {self.figures.positions}, {self.figures.lag} wait", flush=True)


if __name__ == "__main__":
    broker = sys.argv[1] if len(sys.argv) > 1 else None
    Tally("sales", group="tally", broker=broker, max_messages=4, stop_port=0).run(until_caught_up=True)
