"""`whorl.read_state` on Spark: a real broker's changelog, and a checkpoint of Spark's own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id
from test_state_reader import PIPELINE, reader_of, send

import whorl
from whorl.broker import Broker
from whorl.config.settings import Settings
from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster, TopicWanted
from whorl.plan import naming
from whorl.query.checkpoint import Checkpoint, Manifest
from whorl.query.kept import checkpoint_frame
from whorl.query.pins import pinned, session_settings
from whorl.reading.frame import _read
from whorl.reading.latest import Wanted
from whorl.reading.queries import QueryReader
from whorl.reading.where import Stores
from whorl.testing import PipelineHarness
from whorl.testing.memory import MemoryClients

SMALL = {"spark.sql.shuffle.partitions": "2", "spark.sql.codegen.wholeStage": "false"}
ORDERS = [(key, do) for key in ("a", "d", "ö") for do in ("count", "see", "go", "wake", "brief", "daily")]


@pytest.fixture
def harness(tmp_path: Path) -> PipelineHarness:
    """A pipeline of a name that nobody else has, after it has run in memory."""
    (tmp_path / "kept.yaml").write_text(PIPELINE.replace("name: kept", f"name: kept-{uuid.uuid4().hex[:8]}"))
    harness = PipelineHarness(tmp_path / "kept.yaml", partitions=2)
    send(harness, ORDERS)
    harness.run()
    return harness


def test_what_an_executor_does(harness: PipelineHarness) -> None:
    """It reads the logical partitions it is told, and no others."""
    (log,) = reader_of(harness, harness.plan.pipeline).stores.changelogs
    asked = [pa.RecordBatch.from_pydict({"id": [lp]}) for lp in range(2)]
    found = list(_read(MemoryClients(harness.broker), log.topic, Wanted("keeper"), asked))  # type: ignore[arg-type]
    keys = {batch.column("logical_partition")[0].as_py(): set(batch.column("key").to_pylist()) for batch in found}
    assert keys == {0: {"a"}, 1: {"d", "ö"}}


def copied(harness: PipelineHarness, cluster: Cluster) -> None:
    """The register and the changelog as they are in memory, and a transaction that is given up."""
    pipeline, memory = harness.plan.pipeline, harness.broker
    topics = [name for name in memory.topics() if name.endswith(".changelog")] + [naming.REGISTER]
    there = cluster.partition_counts()
    new = [TopicWanted(name, len(memory.topics()[name].logs)) for name in topics if name not in there]
    cluster.create(new, 1)
    producer = cluster.clients.transactional(f"copy-{pipeline}")
    producer.init_transactions(30)
    entries = [entry for name in topics for entry in memory.records(name)]
    for gives_up in (False, True):
        producer.begin_transaction()
        for entry in entries:
            value = None if gives_up else entry.value
            producer.produce(entry.topic, value, entry.key, entry.partition)
        producer.abort_transaction(30) if gives_up else producer.commit_transaction(30)


@pytest.mark.kafka
@pytest.mark.spark
def test_a_frame_of_tasks(spark: SparkSession, broker: Broker, harness: PipelineHarness, folder: Path) -> None:
    cluster, pipeline = Cluster(KafkaClients(broker.address)), harness.plan.pipeline
    copied(harness, cluster)
    frame = whorl.read_state(spark, pipeline, "keeper", broker=broker.address)
    rows = [row.asDict() for row in frame.collect()]
    for row in rows:
        assert row.pop("position") >= 0
        row["key_bytes"] = bytes(row["key_bytes"])
        row["expires"] = row["expires"] and row["expires"].astimezone(UTC)
    expected = [entry.columns() for entry in reader_of(harness, pipeline).scan("keeper") if entry.state != "brief"]
    for row in expected:
        del row["position"]
    assert sorted(rows, key=str) == sorted(expected, key=str)
    assert {row["state"] for row in rows} == {"total", "seen", "places", "daily", "_timers"}
    by_partition = frame.select("logical_partition", spark_partition_id()).distinct().collect()
    assert sorted(map(tuple, by_partition)) == [(0, 0), (1, 1)]
    with pytest.raises(WorldError, match="keeps state in tasks"):
        whorl.read_state(spark, pipeline, "nobody", broker=broker.address)


@pytest.fixture
def checkpoint(spark: SparkSession, tmp_path: Path) -> Callable[..., Checkpoint]:
    """`checkpoint(component, query, **tables)`: what Spark leaves of a query over streams of these rows."""

    def make(component: str, query: str, backend: str = "rocksdb", **tables: list[dict[str, Any]]) -> Checkpoint:
        session = spark.newSession()
        pins = pinned(Settings.model_validate({"state": {"query_backend": backend}}))
        for name, value in {**session_settings(), **pins, **SMALL}.items():
            if not name.startswith("spark.stage"):  # that of the whole process
                session.conf.set(name, value)
        for name, rows in tables.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "rows.json").write_text("\n".join(map(json.dumps, rows)))
            session.readStream.schema("k STRING, n BIGINT").json(str(tmp_path / name)).createTempView(name)
        made = Checkpoint.of(session, str(tmp_path / "checkpoints"), "p", "u", component)
        made.write(Manifest("p", component, "u", "f", (), settings=pins))
        writer = session.sql(query).writeStream.format("noop").outputMode("append" if "JOIN" in query else "update")
        writer.option("checkpointLocation", made.path).trigger(availableNow=True).start().awaitTermination()
        return made

    return make


@pytest.mark.spark
@pytest.mark.parametrize(("backend", "written"), [("rocksdb", ".changelog"), ("filesystem", ".delta")])
def test_a_frame_of_a_query(
    spark: SparkSession, checkpoint: Callable[..., Checkpoint], tmp_path: Path, backend: str, written: str
) -> None:
    rows = [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}]
    made = checkpoint("hourly", "SELECT k, sum(n) AS total FROM t GROUP BY k", backend, t=rows)
    assert [name for name in made.folder.names("state/0/0") if name.endswith(written)]
    reader = QueryReader(spark, Stores("p", "u", (), ("hourly",)), str(tmp_path / "checkpoints"))
    found = reader.frame("hourly").collect()
    assert {(row.operator, row.state, row.key): json.loads(row.value) for row in found} == {
        ("hourly", "stateStoreSave", '{"k":"a"}'): {"sum": 4},
        ("hourly", "stateStoreSave", '{"k":"b"}'): {"sum": 2},
    }
    ((entry,), (kept,)) = reader.get("hourly", b'{"k":"a"}'), reader.overview()
    assert entry.value == {"sum": 4} and (kept.operator, kept.keys, kept.entries, kept.lps) == ("hourly", 2, 2, 2)
    assert {row.position for row in found} == {0} and {row.logical_partition for row in found} <= {0, 1}


@pytest.mark.spark
def test_both_sides_of_a_join(spark: SparkSession, checkpoint: Callable[..., Checkpoint]) -> None:
    join = "SELECT a.k, a.n, b.n AS m FROM a JOIN b ON a.k = b.k"
    made = checkpoint("pairs", join, a=[{"k": "x", "n": 1}], b=[{"k": "x", "n": 2}, {"k": "y", "n": 3}])
    frame = checkpoint_frame(spark, made, "pairs")
    assert frame is not None
    rows = frame.collect()
    assert {(row.state, *json.loads(row.value).values()) for row in rows} == {
        ("symmetricHashJoin left", "x", 1),
        ("symmetricHashJoin right", "x", 2),
        ("symmetricHashJoin right", "y", 3),
    }


@pytest.mark.spark
def test_a_query_that_keeps_nothing(spark: SparkSession, checkpoint: Callable[..., Checkpoint], tmp_path: Path) -> None:
    checkpoint("plain", "SELECT k FROM a", a=[{"k": "x", "n": 1}])
    reader = QueryReader(spark, Stores("p", "u", (), ("plain",)), str(tmp_path / "checkpoints"))
    with pytest.raises(WorldError, match="a query that looks at each row alone"):
        reader.frame("plain")
    assert reader.overview() == []
    with pytest.raises(WorldError, match="the checkpoint of 'fresh' is gone"):
        reader.frame("fresh")
    Checkpoint.of(spark, str(tmp_path / "checkpoints"), "p", "u", "fresh").write(Manifest("p", "fresh", "u", "f", ()))
    with pytest.raises(WorldError, match="has not finished a batch yet"):
        reader.frame("fresh")
