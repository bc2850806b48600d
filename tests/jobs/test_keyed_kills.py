"""State in real Spark tasks: kill -9 between Kafka's commit and the local copy, of the driver, and another number of tasks on a machine
that has no copy."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, count_committed, eventually, is_alive, judge, more

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

CRASH = Path(__file__).parent / "crash"
OPERATOR = """
from whorl import KeyedOperator, ValueState

class Numbered(KeyedOperator):
    seen = ValueState(int)
    rung = ValueState(int)

    def process(self, key, record, context):
        seen = self.seen.update(lambda before: (before or 0) + 1)
        if seen == 1:
            context.timers.after("1s")
        context.emit({**record, "seen": seen}, to="rows")

    def on_timer(self, key, time, context):
        rung = self.rung.update(lambda before: (before or 0) + 1)
        context.emit({"key": key, "rung": rung}, to="rings")
"""


@pytest.fixture
def numbered(tmp_path: Path, topic: Callable[..., str]) -> tuple[Path, str, str, str]:
    """The file, and its topics: the source, one row for each record, one ring for each key."""
    source, rows, rings = topic(4), topic(4), topic(4)
    (tmp_path / "numbering.py").write_text(OPERATOR)
    file = tmp_path / "numbered.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, key: key, format: json}}}}\n"
        "operators:\n"
        "  - {id: number, type: python, class: numbering.Numbered, from: in, key: key, outputs: [rows, rings]}\n"
        "sinks:\n"
        f"  rows: {{type: kafka, topic: {rows}, from: number.rows}}\n"
        f"  rings: {{type: kafka, topic: {rings}, from: number.rings}}\n"
        f"settings: {{tasks: 2, state: {{dir: {tmp_path / 'copies'}}}}}\n"
    )
    return file, source, rows, rings


def test_kills(
    broker: Broker, whorl_run: Callable[..., Running], numbered: tuple[Path, str, str, str], tmp_path: Path
) -> None:
    file, source, rows, rings = numbered
    feed = Feed(broker.address, source).start()
    crashing = {"WHORL_TEST_CRASH": "copy", "WHORL_TEST_CRASHED": str(tmp_path / "crashed")}
    path = os.pathsep.join([str(CRASH), os.environ.get("PYTHONPATH", "")])
    running = whorl_run(file, env={**crashing, "PYTHONPATH": path})
    try:
        eventually((tmp_path / "crashed").exists)
    except AssertionError:
        raise AssertionError(f"no worker died between Kafka and its copy:\n{running.output}") from None
    more(broker.address, rows, running)

    left = [running.jvm, *running.workers()]
    os.kill(running.process.pid, signal.SIGKILL)
    eventually(lambda: not any(map(is_alive, left)), what="what the driver started ends")
    running = whorl_run(file)
    more(broker.address, rows, running)
    assert running.stop() == 0, running.output

    shutil.rmtree(tmp_path / "copies")
    feed.stop()
    running = whorl_run(file, "--set", "tasks=3")
    once = dict.fromkeys(feed.counts, 1)  # a timer may be set and rung as late as here
    eventually(lambda: Counter(row["key"] for row in written(broker, rings)) == once, 90, f"all rings of {rings}")
    eventually(lambda: count_committed(broker.address, rows) >= sum(feed.counts.values()), what="all rows")
    assert running.stop() == 0, running.output
    assert judge(broker.address, rows, feed.counts) == CLEAN
    assert all(row["seen"] == row["n"] + 1 for row in written(broker, rows))
    renamed = file.with_name("renamed.yaml")
    renamed.write_text(file.read_text().replace("id: number", "id: numbers").replace("from: number", "from: numbers"))
    refused = whorl_run(renamed)
    assert refused.wait() == 3 and "component 'number'" in refused.output, refused.output
    assert Counter(row["key"] for row in written(broker, rings)) == once


def written(broker: Broker, topic: str) -> Iterator[dict[str, object]]:
    for message in read_to_end(KafkaClients(broker.address), [(topic, p) for p in range(4)]):
        yield json.loads(message.value())
