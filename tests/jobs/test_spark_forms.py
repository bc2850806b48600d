"""Plainly on Spark: what Spark's own UI and REST say of a pipeline, and that records move nowhere else."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import Feed, Running, count_committed, eventually

from whorl.broker import Broker
from whorl.errors import WorldError
from whorl.tasks.clients import TaskClients


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def test_spark_shows_job_tasks_and_attempts(
    broker: Broker, whorl_run: Callable[..., Running], forward: tuple[Path, str, str]
) -> None:
    file, source, sink = forward
    Feed(broker.address, source).start()
    running = whorl_run(file)
    eventually(lambda: count_committed(broker.address, sink), what="first output")
    found = re.search(r"Spark application (\S+) .*\nSpark UI (\S+)", running.output)
    assert found, running.output
    api = f"{found[2]}/api/v1/applications/{found[1]}"
    [job] = ask(f"{api}/jobs")
    assert (job["description"], job["numTasks"]) == (f"{source}/copy layout 1", 2)
    eventually(lambda: ask(f"{api}/jobs")[0]["numActiveTasks"] == 2, what="both tasks run")
    os.kill(running.workers()[0], signal.SIGKILL)
    tasks = f"{api}/stages/{job['stageIds'][0]}/0/taskList"
    eventually(lambda: sorted(task["attempt"] for task in ask(tasks)) == [0, 0, 1], what="a second attempt")
    assert running.stop() == 0, running.output


@pytest.mark.parametrize(
    "open_client", [lambda c: c.consumer(), lambda c: c.producer(), lambda c: c.transactional("id")]
)
def test_clients_of_the_data_path_open_only_in_a_task(open_client: Callable[[TaskClients], Any]) -> None:
    with pytest.raises(WorldError, match="not-in-task"):
        open_client(TaskClients("127.0.0.1:1"))
