"""Files of a savepoint that are not what they were end a resume before anything is changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from whorl.errors import WorldError
from whorl.savepoints.former import _verify
from whorl.savepoints.frames import RECORDS, records_tally
from whorl.savepoints.manifest import Manifest, SavedEdge, SavedQuery
from whorl.savepoints.save import edge_path, query_path
from whorl.spark.folder import Folder
from whorl.tasks.register import QueryEntry

ROWS = [
    (0, 7, 1, b"key", b"value", [("h", b"x"), ("none", None)]),
    (1, 3, 2, None, None, []),
]


def test_records_and_checkpoints_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path), "savepoints")
    records = spark.createDataFrame(ROWS, from_arrow_schema(RECORDS))
    records.coalesce(1).write.parquet(edge_path(folder, "edge"))
    checkpoint = Path(query_path(folder, "sums").removeprefix("file:"))
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "offsets" / "0").write_bytes(b"v1\n")
    found = records_tally(records)
    edge, query = SavedEdge(2, found.entries, found.checksum), SavedQuery(QueryEntry(), (), 3)
    manifest = Manifest("one", "p", "u", 0.0, "1", "f", "f", 0, {}, {"edge": edge}, {"sums": query})

    _verify(spark, folder, manifest)
    _verify(spark, folder, replace(manifest, edges={"edge": SavedEdge(2, 2)}, queries={}))
    other = spark.createDataFrame([(*ROWS[0][:4], b"other", ROWS[0][5]), ROWS[1]], from_arrow_schema(RECORDS))
    assert records_tally(other) != found
    with pytest.raises(WorldError, match="the records of 'edge' are not those that were saved"):
        _verify(spark, folder, replace(manifest, edges={"edge": replace(edge, checksum="1")}))
    (checkpoint / "offsets" / "0").write_bytes(b"")
    with pytest.raises(WorldError, match="the checkpoint of 'sums' has 0 bytes, and 3 were saved"):
        _verify(spark, folder, manifest)
