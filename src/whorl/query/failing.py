"""What becomes of rows that failed, where it is not the writer that sends them away."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from whorl.query.frames import ERROR, FAILED, OFFSET, PARTITION, SKIPPED, TOPIC, good

MARK = "whorl-failed"


def judged(frame: DataFrame, id: str, action: str) -> DataFrame:
    """Of rows that failed in the node `id`: left out, or an end of the query, or on their way to the dead-letter topic."""
    if action == "skip":
        return good(frame)
    if action == "fail":
        mine = F.coalesce(F.col(FAILED) == id, F.lit(False))
        return frame.where(F.when(mine, F.raise_error(_told(frame)).cast("boolean")).otherwise(True))
    return frame


def failed_text(id: str, place: str, message: str) -> str:
    """As `whorl.query.errors` takes it apart again."""
    return f"{MARK} {{{id}}} {{{place}}} {message}"


def _told(frame: DataFrame) -> Column:
    there = [name for name in (TOPIC, PARTITION, OFFSET) if name in frame.columns]
    place = F.concat_ws("/", *[F.col(name).cast("string") for name in there]) if there else F.lit("")
    return F.concat(F.lit(f"{MARK} {{"), F.col(FAILED), F.lit("} {"), place, F.lit("} "), F.col(ERROR))


def settled(frame: DataFrame, name: str) -> DataFrame:
    """The good rows; the others are counted in the metric `name`."""
    bad = F.coalesce(F.col(ERROR) != SKIPPED, F.lit(False))
    return good(frame.observe(name, F.count_if(bad).alias("bad")))
