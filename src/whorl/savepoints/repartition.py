"""Another number of partitions for the state of a query, by Spark's own means, in a copy of its checkpoint.

Spark rewrites the state into the next batch, which has no rows. Its interface is young, and used here and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import count, lit, sum, xxhash64

from whorl.errors import WorldError
from whorl.query.checkpoint import MANIFEST, Checkpoint, Manifest
from whorl.query.kept import all_rows
from whorl.query.pins import backend_of
from whorl.savepoints.catalog import Place
from whorl.savepoints.manifest import Tally

_PARTITIONS = "spark.sql.shuffle.partitions"


def keeps_state(checkpoint: Place) -> bool:
    """Of a query, by the folder of its checkpoint."""
    return bool(checkpoint.names("state"))


def partitions_of(checkpoint: Place) -> int:
    manifest = checkpoint.read(MANIFEST)
    return int(Manifest.decode(manifest).settings[_PARTITIONS]) if manifest else 0


def repartition(session: SparkSession, checkpoint: Checkpoint, component: str, partitions: int) -> None:
    """Raises where what the query keeps is not the same afterwards."""
    manifest = checkpoint.manifest()
    assert manifest is not None
    if backend_of(manifest.settings) != "rocksdb":
        what = f"Spark cannot repartition the state of '{component}': it does so in RocksDB alone"
        raise WorldError(what, hint="nothing was changed; see 'state.query_backend'", code="rescale")
    before = _tally(session, checkpoint, component)
    try:
        session._streamingCheckpointManager.repartition(checkpoint.path, partitions)
    except Exception as error:
        reason = str(error).strip().splitlines()[0][:300]
        raise WorldError(
            f"Spark cannot repartition the state of '{component}': {reason}", hint="nothing was changed", code="rescale"
        ) from error
    after = _tally(session, checkpoint, component)
    if before != after:
        what = f"state of '{component}' was {before.entries} rows and came to {after.entries}, or to others"
        raise WorldError(what, hint="nothing was changed", code="verify")
    checkpoint.write(replace(manifest, settings={**manifest.settings, _PARTITIONS: str(partitions)}))


def _tally(session: SparkSession, checkpoint: Checkpoint, component: str) -> Tally:
    each = xxhash64("key", "value").cast("decimal(38,0)")
    state = all_rows(session, checkpoint, component)
    row: Any = state.agg(count(lit(1)).alias("entries"), sum(each).alias("sum")).first()
    return Tally(row.entries, str(row.sum or 0))
