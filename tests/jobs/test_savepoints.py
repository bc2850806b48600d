"""Savepoints, rescaling and resuming of a pipeline that runs, on the real broker; also where its driver dies in the middle."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, eventually, judge, more, whorl

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

pytestmark = pytest.mark.long
CRASH = Path(__file__).parent / "crash"
OPERATOR = """
from whorl import KeyedOperator, ValueState

class Numbered(KeyedOperator):
    seen = ValueState(int)

    def process(self, key, record, context):
        seen = self.seen.update(lambda before: (before or 0) + 1)
        if seen == 1:
            context.timers.after("1000 d")
        context.emit({**record, "seen": seen})
"""


@pytest.fixture
def numbered(tmp_path: Path, topic: Callable[..., str]) -> tuple[Path, str, str]:
    """The file, its source and its sink; a topic lies between its two components."""
    source, sink = topic(12), topic(4)
    (tmp_path / "numbering.py").write_text(OPERATOR)
    file = tmp_path / "numbered.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, key: key, format: json}}}}\n"
        "operators:\n"
        "  - {id: copy, type: map, from: in, columns: {copied: 'true'}}\n"
        "  - {id: number, type: python, class: numbering.Numbered, from: copy, key: key}\n"
        f"sinks: {{rows: {{type: kafka, topic: {sink}, from: number}}}}\n"
        f"settings: {{tasks: 2, partitions: 12, edges: topics, state: {{dir: {tmp_path / 'copies'}}}}}\n"
    )
    return file, source, sink


def test_a_pipeline_moves_and_nothing_is_lost(
    broker: Broker, whorl_run: Callable[..., Running], numbered: tuple[Path, str, str]
) -> None:
    file, name, sink = numbered
    folder, address = file.parent, broker.address
    feed = Feed(address, name).start()
    running = whorl_run(file)
    more(broker.address, sink, running)

    more_tasks = ("--tasks", "3", "--partitions", "4", "--component", "number")
    assert "number     2 -> 3  12 -> 4" in whorl(address, folder, "rescale", name, *more_tasks)
    more(broker.address, sink, running)
    feed.stop()
    assert f"stopped '{name}'" in whorl(address, folder, "stop", name, "late")
    assert running.wait() == 0, running.output

    resumed = whorl_run(file, f"{name}/late", "--until-caught-up", verb="resume")
    assert resumed.wait(120) == 0, resumed.output
    assert judge(address, sink, feed.counts) == CLEAN
    assert all(row["seen"] == row["n"] + 1 for row in written(broker, sink))

    kept = json.loads(whorl(address, folder, "state", "list", name, "--format", "json"))
    assert (kept["keys"], kept["timers"], kept["lps"]) == (Feed.KEYS, Feed.KEYS, 4)


def test_a_driver_that_dies_in_the_middle(
    broker: Broker, whorl_run: Callable[..., Running], numbered: tuple[Path, str, str], tmp_path: Path
) -> None:
    file, name, sink = numbered
    feed = Feed(broker.address, name).start()
    rescale = ("rescale", name, "--partitions", "6", "--component", "number")
    orders = {"half a savepoint": ("savepoint", name, "x"), "life filled": rescale, "life adopted": rescale}
    for step, order in orders.items():
        crashing = {"WHORL_TEST_CRASH": step, "WHORL_TEST_CRASHED": str(tmp_path / step)}
        path = os.pathsep.join([str(CRASH), os.environ.get("PYTHONPATH", "")])
        running = whorl_run(file, env={**crashing, "PYTHONPATH": path})
        more(broker.address, sink, running)
        with pytest.raises(AssertionError, match="ended before it answered"):
            whorl(broker.address, file.parent, *order)
        eventually(lambda left=running.process: left.poll() is not None)
    feed.stop()
    running = whorl_run(file, "--until-caught-up")
    assert running.wait(120) == 0, running.output
    assert judge(broker.address, sink, feed.counts) == CLEAN
    assert all(row["seen"] == row["n"] + 1 for row in written(broker, sink))
    kept = json.loads(whorl(broker.address, file.parent, "state", "list", name, "--format", "json"))
    assert (kept["keys"], kept["lps"]) == (Feed.KEYS, 6)


def written(broker: Broker, topic: str) -> Iterator[dict[str, int]]:
    for message in read_to_end(KafkaClients(broker.address), [(topic, p) for p in range(4)]):
        yield json.loads(message.value())


@pytest.fixture
def counted(tmp_path: Path, topic: Callable[..., str]) -> tuple[Path, str, str]:
    """Tasks, a topic, and behind it a query that keeps a count of each key."""
    source, sink = topic(4), topic(4)
    file = tmp_path / "counted.yaml"
    file.write_text(
        f"name: {source}\n"
        "sources:\n"
        f"  in: {{type: kafka, topic: {source}, format: json, key: key, schema: {{key: string, n: long}}}}\n"
        "operators:\n"
        "  - {id: copy, type: map, host: tasks, from: in, columns: {n: n + 1}}\n"
        "  - {id: counted, type: sql, mode: update, query: 'SELECT key, count(*) AS c, sum(n) AS s FROM copy GROUP BY key'}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: counted, key: key}}}}\n"
        "settings: {tasks: 1}\n"
    )
    return file, source, sink


def test_a_query_is_saved_resumed_and_gets_another_number_of_partitions(
    broker: Broker, whorl_run: Callable[..., Running], counted: tuple[Path, str, str]
) -> None:
    file, name, sink = counted
    folder, address = file.parent, broker.address
    feed = Feed(address, name).start()
    running = whorl_run(file)
    more(address, sink, running)
    assert "2 components" in whorl(address, folder, "savepoint", name, "early")
    more(address, sink, running)
    assert "counted    -      4 -> 3" in whorl(
        address, folder, "rescale", name, "--partitions", "3", "--component", "counted"
    )
    more(address, sink, running)
    feed.stop()
    whorl(address, folder, "stop", name, "late")
    resumed = whorl_run(file, f"{name}/early", "--until-caught-up", verb="resume")
    assert resumed.wait(120) == 0, resumed.output
    assert "is written again" in resumed.output
    last = {row["key"]: (row["c"], row["s"]) for row in written(broker, sink)}
    assert last == {key: (count, count * (count + 1) // 2) for key, count in feed.counts.items()}


def test_what_is_on_its_way_to_a_query_when_nothing_runs(
    broker: Broker, whorl_run: Callable[..., Running], counted: tuple[Path, str, str]
) -> None:
    file, name, sink = counted
    feed = Feed(broker.address, name)
    feed.write(40)
    feed.stop()
    running = whorl_run(file, "--until-caught-up")
    assert running.wait(240) == 0, running.output
    producer = KafkaClients(broker.address).producer()
    producer.produce(
        f"{name}.copy_counted", b'{"key": "k0", "n": 1000}', b"k0"
    )  # as if the query had been stopped before it came to it
    producer.flush()
    assert "2 components" in whorl(broker.address, file.parent, "savepoint", name, "cold")
    resumed = whorl_run(file, f"{name}/cold", "--until-caught-up", verb="resume")
    assert resumed.wait(240) == 0, resumed.output
    last = {row["key"]: (row["c"], row["s"]) for row in written(broker, sink)}
    assert last == dict.fromkeys(feed.counts, (2, 3)) | {"k0": (3, 1003)}
