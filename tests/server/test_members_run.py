"""A job on two task managers: either is killed under load, and what the other has does not notice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.running import CLEAN, Feed, count_committed, eventually, judge
from tests.server.running_server import Serving

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

OPERATOR = """
from whorl import KeyedOperator, ValueState

class Numbered(KeyedOperator):
    seen = ValueState(int)

    def process(self, key, record, context):
        context.emit({**record, "seen": self.seen.update(lambda before: (before or 0) + 1)})
"""


@pytest.fixture
def numbered(tmp_path: Path, topic: Callable[..., str]) -> tuple[Path, str, str]:
    """The file of two components, one that passes on and one that counts by key behind it; its source and its sink topic."""
    source, sink = topic(4), topic(4)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "numbering.py").write_text(OPERATOR)
    file = folder / "numbered.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, key: key, format: json, schema: {{key: string, n: long}}}}}}\n"
        "operators:\n"
        "  - {id: pass, type: map, from: in, columns: {passed: 'true'}}\n"
        "  - {id: number, type: python, class: numbering.Numbered, from: pass, key: key}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: number}}}}\n"
        "settings: {tasks: 2, task_managers: 2, edges: topics}\n"
    )
    return file, source, sink


def components(server: Serving, job: str) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in server.job(job)["components"]}


def is_well(component: dict[str, Any]) -> bool:
    return component["status"] == "RUNNING" and component["health"] == "ok"


def manager(server: Serving, id: str) -> dict[str, Any]:
    return next(each for each in server.ask("GET", "/taskmanagers") if each["id"] == id)


def kill(server: Serving, job: str, component: str) -> dict[str, dict[str, Any]]:
    """The task manager that runs the component; gives back the components when all run again."""
    before = components(server, job)
    killed = before[component]["task_manager"]
    os.kill(manager(server, killed)["pid"], signal.SIGKILL)
    server.until(job, "RESTARTING", 30)
    assert components(server, job)[component]["status"] != "RUNNING"
    server.until(job, "RUNNING")
    after = components(server, job)
    assert after[component]["task_manager"] != killed
    assert after[component]["layout"] > before[component]["layout"]
    for id in before:
        if before[id]["task_manager"] != killed:
            assert [after[id][name] for name in ("task_manager", "layout")] == [
                before[id][name] for name in ("task_manager", "layout")
            ]
    return after


@pytest.mark.long
def test_either_task_manager_of_a_job_may_die_and_the_other_goes_on(
    broker: Broker, serving: Callable[..., Serving], numbered: tuple[Path, str, str]
) -> None:
    file, source, sink = numbered
    feed = Feed(broker.address, source, every=0.05).start()
    server = serving("--task-managers", "2")
    job = server.submit(file)
    server.until(job, "RUNNING")
    assert len({each["task_manager"] for each in components(server, job).values()}) == 2
    leader = server.job(job)["task_managers"][0]
    led = next(id for id, each in components(server, job).items() if each["task_manager"] == leader)
    member = next(id for id in components(server, job) if id != led)

    kill(server, job, member)
    assert server.job(job)["task_managers"][0] == leader
    kill(server, job, led)
    flows(broker, sink)

    saved = server.act(job, "savepoints")["result"]
    assert (saved["components"], saved["name"] != "") == (2, True)
    server.act(job, "rescale", tasks=3)
    eventually(lambda: all(is_well(each) and each["tasks"] == 3 for each in components(server, job).values()), 200)
    assert len({each["task_manager"] for each in components(server, job).values()}) == 2
    flows(broker, sink)

    fed = feed.stop()
    eventually(lambda: count_committed(broker.address, sink) >= fed, 200, "all is written")
    eventually(lambda: server.job(job)["lag"] == 0, 60, "all is read")
    server.act(job, "stop", savepoint=False)
    assert judge(broker.address, sink, feed.counts) == CLEAN
    rows = [
        json.loads(each.value()) for each in read_to_end(KafkaClients(broker.address), [(sink, p) for p in range(4)])
    ]
    assert all(row["seen"] == row["n"] + 1 for row in rows)
    eventually(lambda: all(each["status"] == "idle" for each in server.ask("GET", "/taskmanagers")), 60)
    server.stop()


def flows(broker: Broker, sink: str) -> None:
    before = count_committed(broker.address, sink)
    eventually(lambda: count_committed(broker.address, sink) > before, 200, "records flow")
