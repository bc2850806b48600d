"""The same pipeline on a standalone Spark cluster of two workers: code is shipped, an executor dies, nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, count_committed, eventually, judge, more
from standalone import StandaloneCluster

from whorl.broker import Broker


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path_factory.mktemp("spark"), workers=2)
    yield cluster
    cluster.stop()


def test_tasks_and_a_query_run_on_executors_and_survive_one(
    broker: Broker,
    cluster: StandaloneCluster,
    whorl_run: Callable[..., Running],
    topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    source, sink = topic(4), topic(4)
    (tmp_path / "shipped.py").write_text("def mark(row):\n    return {**row, 'marked': True}\n")
    file = tmp_path / "shipped.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}}}}}\n"
        "operators:\n"
        "  - {id: mark, type: python, from: in, function: shipped.mark, returns: {key: string, n: long, marked: boolean}}\n"
        "  - {id: copy, type: sql, query: SELECT * FROM mark WHERE marked}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: copy}}}}\n"
        "settings: {tasks: 2, partitions: 2, spark: {spark.executor.cores: 4, spark.cores.max: 8, spark.executor.memory: 512m}}\n"
    )
    feed = Feed(broker.address, source).start()
    running = whorl_run(file, "--master", cluster.master)

    more(broker.address, sink, running, within=120)
    os.kill(eventually(cluster.executors)[0], signal.SIGKILL)
    more(broker.address, sink, running, within=120)
    feed.stop()
    eventually(lambda: count_committed(broker.address, sink) >= sum(feed.counts.values()), what="all of it")
    assert running.stop() == 0, running.output
    assert judge(broker.address, sink, feed.counts) == CLEAN


def test_too_few_slots_is_told_at_once(
    broker: Broker, whorl_run: Callable[..., Running], forward: tuple[Path, str, str]
) -> None:
    running = whorl_run(forward[0], "--master", "local[3]")
    assert running.wait() == 3
    assert "[slots] the pipeline needs 4 slots, 'local[3]' has 3" in running.output
