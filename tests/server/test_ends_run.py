"""Jobs that end by themselves, and one whose driver hangs while its heart beats."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.jobs.running import CLEAN, Feed, children, count_committed, eventually, is_alive, judge
from tests.server.running_server import Serving

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end


@pytest.mark.long
def test_a_job_whose_sources_end_is_finished_with_all_that_they_had(
    broker: Broker, serving: Callable[..., Serving], tmp_path: Path, topic: Callable[..., str]
) -> None:
    sink = topic(1)
    file = tmp_path / "bounded.yaml"
    file.write_text(
        f"name: {sink}\n"
        "sources: {numbers: {type: rate, rows_per_second: 200, limit: 500}}\n"
        "operators:\n"
        "  - {id: double, type: map, from: numbers, columns: {twice: 'value * 2'}}\n"
        "  - {id: even, type: sql, query: 'SELECT value, twice FROM double WHERE value % 2 = 0'}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: even}}}}\n"
        "settings: {tasks: 1, task_managers: 2}\n"
    )
    server = serving("--task-managers", "2")
    job = server.submit(file)
    ended = server.until(job, "FINISHED")
    rows = [json.loads(each.value()) for each in read_to_end(KafkaClients(broker.address), [(sink, 0)])]
    assert sorted(row["value"] for row in rows) == list(range(0, 500, 2))
    assert all(row["twice"] == 2 * row["value"] for row in rows)
    assert (ended["task_managers"], ended["restarts"]) == ([], 0)
    assert {each["status"] for each in ended["components"]} == {"STOPPED"}
    eventually(lambda: all(each["status"] == "idle" for each in server.ask("GET", "/taskmanagers")), 60)


@pytest.mark.long
def test_a_driver_that_hangs_is_given_up_though_its_heart_beats(
    broker: Broker, serving: Callable[..., Serving], tmp_path: Path, topic: Callable[..., str]
) -> None:
    source, sink = topic(2), topic(2)
    file = tmp_path / "copy.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, format: json, schema: {{key: string, n: long}}}}}}\n"
        "operators: [{id: copy, type: forward, from: in}]\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: copy}}}}\n"
        "settings: {tasks: 2}\n"
    )
    feed = Feed(broker.address, source, every=0.05).start()
    server = serving("--task-managers", "2", "--hang-timeout", "5")
    job = server.submit(file)
    server.until(job, "RUNNING")
    hung = server.manager_of(job)
    spark = children(hung["pid"])  # with its tasks: whoever asks it for anything waits for ever
    for pid in spark:
        os.kill(pid, signal.SIGSTOP)
    server.until(job, "RESTARTING", 120)
    [failure] = server.ask("GET", f"/jobs/{job}/exceptions")[:1]
    assert (failure["code"], failure["task_manager"]) == ("task-manager-hung", hung["id"])
    server.until(job, "RUNNING")
    for pid in filter(is_alive, spark):  # what was not ended with it wakes up, and can do nothing any more
        os.kill(pid, signal.SIGCONT)
    before = count_committed(broker.address, sink)
    eventually(lambda: count_committed(broker.address, sink) > before, 60, "records flow")
    feed.stop()
    eventually(lambda: server.job(job)["lag"] == 0, 60, "all is read")
    server.act(job, "stop", savepoint=False)
    assert judge(broker.address, sink, feed.counts) == CLEAN
