"""A pipeline whose executors YARN starts: code is shipped, resources and queue are taken from the settings, an executor dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, count_committed, eventually, judge, more
from tests.servers.yarn import Yarn

from whorl.broker import Broker

pytestmark = pytest.mark.long


@pytest.fixture
def yarn(tmp_path: Path) -> Iterator[Yarn]:
    server = Yarn(tmp_path / "yarn")
    yield server
    server.stop()


def test_tasks_and_a_query_on_yarn(
    broker: Broker, yarn: Yarn, shipped: Callable[[str], tuple[Path, str, str]], whorl_run: Callable[..., Running]
) -> None:
    file, source, sink = shipped(
        "master: yarn, deploy: {queue: night}, resources: {executors: 2, cores: 4, memory: 512MB}, "
        f"spark: {{spark.yarn.jars: 'local:{_jars()}/*', spark.yarn.am.memory: 256m}}"
    )
    feed = Feed(broker.address, source).start()
    running = whorl_run(file, env={"HADOOP_CONF_DIR": str(yarn.conf), "SPARK_LOCAL_IP": "127.0.0.1"})
    more(broker.address, sink, running, 180)
    assert yarn.queues() == ["night"]
    os.kill(_executors()[0], signal.SIGKILL)
    eventually(lambda: len(_executors()) == 2, 90, "YARN has started another executor")
    more(broker.address, sink, running, 180)
    feed.stop()
    eventually(lambda: count_committed(broker.address, sink) >= sum(feed.counts.values()), 120, "all of it")
    assert running.stop() == 0, running.output
    assert judge(broker.address, sink, feed.counts) == CLEAN


def _executors() -> list[int]:
    """Pids of executor JVMs."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            program, *words = command.read_bytes().split(b"\0")
            if program.endswith(b"java") and b"org.apache.spark.executor.YarnCoarseGrainedExecutorBackend" in words:
                found.append(int(command.parent.name))
    return found


def _jars() -> Path:
    spec = find_spec("pyspark")
    assert spec and spec.origin
    return Path(spec.origin).parent / "jars"
