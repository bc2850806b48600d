"""How long records take from their timestamp to the end of the batch that read them.

Spark counts on the way: of every eighth record the time goes into a sketch of quantiles, which comes back with the report of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whorl.histogram import bucket_of

_NAME = "whorl: times of "
_EVERY = 8
_SHARES = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
_MIDDLES = [0.0, *((one + other) / 2 for one, other in pairwise(_SHARES)), 1.0]
_WEIGHTS = [end - start for start, end in pairwise(_MIDDLES)]
"""For which share of all records each quantile stands."""
_ACCURACY = 200
RECENT = 20_000
"""Milliseconds for which a batch counts."""


def with_times(records: DataFrame, input: str) -> DataFrame:
    """Records of Kafka, as Spark gives them."""
    sampled = F.when(F.col("offset") % _EVERY == 0, F.unix_millis("timestamp"))
    quantiles = F.percentile_approx(sampled, F.array(*map(F.lit, _SHARES)), _ACCURACY)
    return records.observe(f"{_NAME}{input}", quantiles.alias("times"), F.count(F.lit(1)).alias("records"))


def ended_at(report: Mapping[str, Any]) -> float:
    """Milliseconds since 1970."""
    began = datetime.fromisoformat(str(report["timestamp"]).replace("Z", "+00:00")).timestamp() * 1000
    return began + float(report["durationMs"].get("triggerExecution", 0))


def buckets_of(report: Mapping[str, Any]) -> dict[int, float]:
    """What a batch adds to a histogram."""
    end, found = ended_at(report), dict[int, float]()
    for times, records in _observed(report):
        for time, weight in zip(times, _WEIGHTS, strict=True):
            bucket = bucket_of(end - time)
            found[bucket] = found.get(bucket, 0.0) + weight * records
    return found


def _observed(report: Mapping[str, Any]) -> Iterator[tuple[list[int], int]]:
    for name, row in (report.get("observedMetrics") or {}).items():
        if name.startswith(_NAME) and row.get("times"):
            yield row["times"], int(row["records"])
