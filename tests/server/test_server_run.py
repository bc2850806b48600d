"""The job server as users have it: `whorl serve`, task managers in processes of their own, a pipeline that never stops being fed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.jobs.running import CLEAN, Feed, count_committed, eventually, judge
from tests.server.running_server import Serving

from whorl.broker import Broker
from whorl.broker.zookeeper import ZooKeeper


@pytest.fixture
def pipeline(tmp_path: Path, topic: Callable[..., str]) -> tuple[Path, str, str]:
    """A file that copies JSON records with a module beside it, its source and its sink topic."""
    source, sink = topic(4), topic(4)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine.py").write_text("def seen(row):\n    return {**row, 'seen': True}\n")
    file = folder / "pipeline.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, format: json, schema: {{key: string, n: long}}}}}}\n"
        "operators: [{id: copy, type: python, from: in, function: mine.seen}]\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: copy}}}}\n"
        "settings: {tasks: 2}\n"
    )
    return file, source, sink


def test_a_job_outlives_its_task_manager_and_its_server_and_nothing_is_lost_or_doubled(
    broker: Broker, serving: Callable[..., Serving], pipeline: tuple[Path, str, str]
) -> None:
    file, source, sink = pipeline
    feed = Feed(broker.address, source).start()
    server = serving("--task-managers", "2")
    job = server.submit(file)
    server.until(job, "RUNNING")
    (file.parent / "mine.py").write_text("raise SystemExit('an edit on disk changes no job')\n")

    hung = server.manager_of(job)
    os.kill(hung["pid"], signal.SIGSTOP)
    at = time.monotonic()
    server.until(job, "RESTARTING", 30)
    assert time.monotonic() - at < 10
    assert all(each["status"] != "RUNNING" for each in server.job(job)["components"])
    server.until(job, "RUNNING")
    os.kill(hung["pid"], signal.SIGCONT)
    second = server.manager_of(job)
    assert second["id"] != hung["id"]

    server.kill()  # the job goes on
    before = count_committed(broker.address, sink)
    eventually(lambda: count_committed(broker.address, sink) > before, 60, "records flow without a server")
    server.start()
    assert server.manager_of(job)["pid"] == second["pid"]
    eventually(lambda: server.job(job)["status"] == "RUNNING", 30)
    eventually(lambda: _status_of(server, hung["id"]) == "idle", 60, "the one that hung has dropped the job")

    twice = server.http.post("/jobs", content=file.read_bytes(), headers={"content-type": "application/yaml"})
    assert (twice.status_code, twice.json()["code"]) == (422, "check")  # its module is broken by now
    (file.parent / "mine.py").write_text("def seen(row):\n    return row\n")
    with pytest.raises(AssertionError, match=f"is job {job} already, RUNNING since"):
        server.submit(file)
    command = [sys.executable, "-m", "whorl", "run", str(file), "--broker", broker.address]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert refused.returncode == 3
    assert f"as job {job}" in refused.stderr

    feed.stop()
    server.act(job, "stop", savepoint=False)
    server.act(job, "resume")
    eventually(lambda: server.job(job)["lag"] == 0, 60, "all is read")
    server.act(job, "cancel")
    assert server.job(job)["status"] == "CANCELED"
    assert any(each["code"] == "task-manager-lost" for each in server.ask("GET", f"/jobs/{job}/exceptions"))
    assert judge(broker.address, sink, feed.counts) == CLEAN
    server.stop()


def _status_of(server: Serving, manager: str) -> str:
    return next((each["status"] for each in server.ask("GET", "/taskmanagers") if each["id"] == manager), "")


def test_a_standby_takes_over_and_the_job_does_not_notice(
    broker: Broker, serving: Callable[..., Serving], pipeline: tuple[Path, str, str], tmp_path: Path
) -> None:
    file, source, sink = pipeline
    zookeeper = ZooKeeper.start(tmp_path / "zookeeper")
    try:
        ha = ("--ha", f"zookeeper://{zookeeper.address}/whorl", "--session-timeout", "4", "--task-managers", "1")
        first = serving(*ha)
        eventually(first.leads, 30, "the first leads")
        second = serving(*ha)
        refused = second.http.get("/jobs")
        assert (refused.status_code, refused.json()["code"]) == (503, "not-leader")
        assert first.url in refused.json()["hint"]

        feed = Feed(broker.address, source).start()
        job = first.submit(file)
        first.until(job, "RUNNING")
        manager = first.manager_of(job)
        os.kill(first.process.pid, signal.SIGSTOP)
        eventually(second.leads, 30, "the second leads")
        assert second.manager_of(job)["pid"] == manager["pid"]
        eventually(lambda: second.job(job)["status"] == "RUNNING", 30)
        os.kill(first.process.pid, signal.SIGCONT)  # and is fenced
        eventually(lambda: first.http.get("/jobs").status_code == 503, 30, "the first stands by")
        before = count_committed(broker.address, sink)
        eventually(lambda: count_committed(broker.address, sink) > before, 60, "records flow")

        second.kill()
        eventually(first.leads, 30, "the first leads again")
        assert first.manager_of(job)["pid"] == manager["pid"]
        feed.stop()
        eventually(lambda: first.job(job)["lag"] == 0, 60, "all is read")
        first.act(job, "stop", savepoint=False)
        assert first.job(job)["restarts"] == 0
        assert judge(broker.address, sink, feed.counts) == CLEAN
    finally:
        zookeeper.stop()
