"""Each setting does what the settings page says; those that have tests elsewhere are named there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whorl.config.loader import Loaded, load
from whorl.config.settings import Settings
from whorl.errors import CheckFailed, WorldError
from whorl.flow.check import checked
from whorl.jobs.address import broker_address, clients_of
from whorl.jobs.ground import survey
from whorl.jobs.session import session_options, slots_of
from whorl.kafka.topics import Cluster
from whorl.plan.explain import explain
from whorl.plan.plan import Plan
from whorl.plan.planner import make_plan
from whorl.query.pins import session_settings
from whorl.spark.session import SessionOptions, _defaults, _master
from whorl.tasks.host import delay
from whorl.tasks.layout import logical_partitions
from whorl.tasks.outlet import Outlet
from whorl.testing import PipelineHarness
from whorl.testing.clock import ManualClock

TWO = """
name: p
sources: {in: {type: kafka, topic: in, key: k, schema: {k: string, n: long}}}
operators:
  - {id: one, type: filter, where: n > 0, host: tasks}
  - {id: two, type: sql, query: "SELECT k, count(*) AS n FROM one GROUP BY k"}
sinks: {out: {type: kafka, topic: out, key: k}}
"""
ONE = """
name: p
sources: {in: {type: kafka, topic: in, key: k, schema: {k: string, n: long}}}
operators: [{id: one, type: count, key: k}]
sinks: {out: {type: kafka, topic: out, key: k}}
"""


def loaded(text: str, *given: str) -> Loaded:
    Path("p.yaml").write_text(text)
    return load("p.yaml", overrides=given)


def plan(text: str, *given: str) -> Plan:
    read = loaded(text, *given)
    return make_plan(checked(read), read.settings)


class Board:
    """A cluster on which no topic is."""

    clients: Any = None

    def partition_counts(self) -> dict[str, int]:
        return {}


def options(*given: str) -> Any:
    read = loaded(ONE, *given)
    made = make_plan(checked(read), read.settings)
    wanted: Any = {"one": SimpleNamespace(tasks=read.settings.tasks or 1)}
    nothing: Any = SimpleNamespace()
    return session_options(read, slots_of(made, nothing, wanted), Path(), made)


def test_broker(folder: Path) -> None:
    assert broker_address(loaded(ONE, "broker=host:1").settings) == "host:1"
    with pytest.raises(WorldError, match="no broker is set"):
        broker_address(loaded(ONE).settings)


def test_kafka(folder: Path) -> None:
    settings = loaded(ONE, "broker=host:1", "kafka.client.id=me").settings
    assert clients_of(settings).extra == {"client.id": "me"}


def test_tasks(folder: Path) -> None:
    assert "of 3 long-running tasks" in explain(plan(ONE, "tasks=3"))
    assert options("tasks=3").slots == options("tasks=1").slots + 2


def test_max_tasks() -> None:
    assert logical_partitions([8], None, False) == 8 and logical_partitions([8], 2, False) < 8


def test_trigger(folder: Path) -> None:
    assert "every 5s" in explain(plan(TWO, "trigger=5s")) and "as soon as" in explain(plan(TWO))


def test_checkpoints(folder: Path) -> None:
    assert "'hdfs://n/c/p-UID/two'" in explain(plan(TWO, "checkpoints=hdfs://n/c"))


def test_state_partitions(folder: Path) -> None:
    assert "RocksDB, 9 partitions" in explain(plan(TWO, "state_partitions=9"))


def test_state_query_backend(folder: Path) -> None:
    assert "RocksDB" not in explain(plan(TWO, "state.query_backend=filesystem"))


def test_edges(folder: Path) -> None:
    forward = ONE.replace("[{id: one, type: count, key: k}]", "[{id: a, type: forward}, {id: b, type: forward}]")
    assert len(plan(forward).components) == 1 and len(plan(forward, "edges=topics").components) == 2


def test_partitions_and_create_topics(folder: Path) -> None:
    found = survey(plan(ONE, "partitions=7"), Board(), None)  # type: ignore[arg-type]
    assert found.partitions["in"] == 7 and not found.findings
    none = survey(plan(ONE, "create_topics=false"), Board(), None)  # type: ignore[arg-type]
    assert [finding.code for finding in none.findings] == ["topic-missing", "topic-missing"]


def test_replication() -> None:
    cluster = object.__new__(Cluster)
    cluster.brokers = lambda: 5  # type: ignore[method-assign]
    assert cluster.replication(None) == 3 and cluster.replication(2) == 2


def test_transaction_timeout(folder: Path) -> None:
    asked: dict[str, Any] = {}

    class Clients:
        def transactional(self, id: str, **config: Any) -> Any:
            asked.update(config)
            raise StopIteration

    with pytest.raises(StopIteration):
        Outlet(Clients(), "id", loaded(ONE, "transaction_timeout=90s").settings)  # type: ignore[arg-type]
    assert asked["transaction.timeout.ms"] == 90_000


def test_restart_delay_and_max_delay() -> None:
    fixed = Settings.model_validate({"restart": {"strategy": "fixed", "delay": "7s"}}).restart
    assert [delay(fixed, failures) for failures in range(3)] == [7, 7, 7]
    growing = Settings.model_validate({"restart": {"delay": "1s", "max_delay": "3s"}}).restart
    assert [delay(growing, failures) for failures in range(4)] == [1, 2, 3, 3]


def _commits(*given: str, clock: ManualClock | None = None) -> int:
    text = ONE.replace("type: count, key: k", "type: map, columns: {n: n + 1}")
    harness = PipelineHarness(loaded(text, *given))
    harness.clock = clock or harness.clock
    harness.send("in", [{"k": "a", "n": n} for n in range(20)])
    harness.run()
    return harness.faults.points.count("producer.commit_transaction")


def test_commit_records(folder: Path) -> None:
    small = ("commit_records=2", "bulk_records=2", "commit_interval=10s")
    assert _commits(*small) > _commits("bulk_records=2", "commit_interval=10s")


def test_bulk_records(folder: Path) -> None:
    assert _commits("bulk_records=1", "commit_records=1") > _commits("bulk_records=20", "commit_records=1")


def test_state_dir_and_backend(folder: Path) -> None:
    harness = PipelineHarness(loaded(ONE, f"state.dir={folder}/copies"))
    harness.send("in", [{"k": "a", "n": 1}])
    harness.run()
    assert list((folder / "copies").rglob("data.mdb"))
    in_memory = PipelineHarness(loaded(ONE, f"state.dir={folder}/none", "state.backend=memory"))
    in_memory.send("in", [{"k": "a", "n": 1}])
    in_memory.run()
    assert not (folder / "none").exists()


def test_master() -> None:
    assert _master(SessionOptions("p", "local", 5)).startswith("local[5,")
    assert _master(SessionOptions("p", "yarn", 5)) == "yarn"


def test_resources_become_those_of_spark(folder: Path) -> None:
    given = (
        "master=spark://h:1",
        "resources.executors=3",
        "resources.cores=2",
        "resources.memory=4GB",
        "resources.driver_memory=512MB",
    )
    made = options(*given).settings
    expected = {
        "spark.executor.instances": "3", "spark.executor.cores": "2", "spark.cores.max": "6",
        "spark.executor.memory": "4096m", "spark.driver.memory": "512m",
    }  # fmt: skip
    assert expected.items() <= made.items()


def test_deploy(folder: Path) -> None:
    made = options("master=yarn", "deploy.queue=night").settings
    assert (made["spark.yarn.queue"], made["spark.submit.deployMode"]) == ("night", "client")
    with pytest.raises(CheckFailed, match="would move the driver away"):
        checked(loaded(ONE, "deploy.mode=cluster"))


@pytest.mark.parametrize("engine", ["flink", "dask", "Spark"])
def test_engine(folder: Path, engine: str) -> None:
    with pytest.raises(CheckFailed, match=f"there is no engine '{engine}': Whorl compiles pipelines to Spark"):
        checked(loaded(ONE, f"engine={engine}"))


def test_spark_is_passed_on_and_wins(folder: Path) -> None:
    made = options("spark.spark.locality.wait=7s", "spark.executor.memory=2g").settings
    assert (made["spark.locality.wait"], made["spark.executor.memory"]) == ("7s", "2g")


def test_py_files_and_archives(folder: Path) -> None:
    made = options("py_files=[a.py]", "archives=[env.tgz]")
    assert "a.py" in made.py_files and made.archives == ("env.tgz",)
    assert _defaults(made)["spark.archives"] == "env.tgz"


def test_logging_of_spark(folder: Path) -> None:
    quiet, told = options(), options("logging.spark=warn")
    assert "log4j2.properties" in _defaults(quiet)["spark.driver.extraJavaOptions"]
    java = _defaults(told)["spark.driver.extraJavaOptions"]
    assert "log4j2-verbose.properties" in java and "-Dwhorl.log=warn" in java
    assert session_settings()  # what queries need stands beside it


def test_new_projects_have_a_trigger_of_five_seconds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = Path(__file__).parents[2] / "src" / "whorl" / "cli" / "template" / "whorl.yaml"
    Path("whorl.yaml").write_text(template.read_text())
    assert loaded(TWO).settings.trigger == 5.0


class Passing(ManualClock):
    """A second passes whenever somebody looks."""

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_commit_interval(folder: Path) -> None:
    assert _commits("commit_interval=5s", clock=Passing()) > _commits("commit_interval=50s", clock=Passing())
