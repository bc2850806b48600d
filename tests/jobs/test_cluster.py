"""A job on a standalone Spark cluster of two workers: code is shipped, an executor dies, then a whole worker, nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, count_committed, eventually, judge
from standalone import StandaloneCluster
from tests.server.running_server import Serving

from whorl.broker import Broker


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path_factory.mktemp("spark"), workers=2)
    yield cluster
    cluster.stop()


def test_tasks_and_a_query_run_on_executors_and_survive_one_and_a_worker(
    broker: Broker,
    cluster: StandaloneCluster,
    shipped: Callable[[str], tuple[Path, str, str]],
    tmp_path: Path,
) -> None:
    file, source, sink = shipped("spark: {spark.executor.cores: 4, spark.cores.max: 8, spark.executor.memory: 512m}")
    feed = Feed(broker.address, source).start()
    server = Serving(tmp_path / "data", broker.address, "--task-managers", "1")
    try:
        job = server.submit(file, f"master={cluster.master}")
        server.until(job, "RUNNING")
        _more(broker.address, sink)
        os.kill(eventually(cluster.executors)[0], signal.SIGKILL)
        _more(broker.address, sink)
        eventually(lambda: len(cluster.executors()) == 2, 60, "Spark has started another executor")
        cluster.kill_a_worker()
        _more(broker.address, sink)
        feed.stop()
        eventually(lambda: count_committed(broker.address, sink) >= sum(feed.counts.values()), 120, "all of it")
        server.act(job, "stop", savepoint=False)
    finally:
        server.end()
    assert judge(broker.address, sink, feed.counts) == CLEAN


def _more(address: str, sink: str) -> None:
    """Returns when something was written since."""
    before = count_committed(address, sink)
    eventually(lambda: count_committed(address, sink) > before, 120, "records flow")


def test_too_few_slots_is_told_at_once(
    broker: Broker, whorl_run: Callable[..., Running], forward: tuple[Path, str, str]
) -> None:
    running = whorl_run(forward[0], "--master", "local[3]")
    assert running.wait() == 3
    assert "[slots] the pipeline needs 4 slots, 'local[3]' has 3" in running.output
