"""Standbys in real Spark tasks: after kill -9, tasks whose copies are gone go on from those of their standbys."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from running import Running, eventually

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.state.backend import Meta
from whorl.tasks.control import StatusReader
from whorl.tasks.register import read_registration

pytestmark = pytest.mark.long
KEYS = 40_000
"""So many that a task asks a standby for its copy, where that was started first and holds it."""


def test_a_task_goes_on_from_the_copy_of_its_standby(
    broker: Broker, whorl_run: Callable[..., Running], topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink, copies = topic(2), topic(2), tmp_path / "copies"
    file = tmp_path / "counted.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, key: key, schema: {{key: string}}}}}}\n"
        "operators: [{id: count, type: count, key: key, from: in}]\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: count}}}}\n"
        f"settings: {{tasks: 2, state: {{dir: {copies}, standby: 1}}}}\n"
    )
    write(broker, source)
    running = whorl_run(file)
    try:
        eventually(lambda: sum(map(position, copies.glob("*/*/*/*.1"))) >= KEYS, within=180)
    except AssertionError:
        raise AssertionError(f"standbys have not followed:\n{running.output}") from None
    assert "2 tasks, 2 standbys" in running.output
    running.kill_all()

    for folder in copies.glob("*/*/*/*"):
        if folder.name in ("0", "1"):
            shutil.rmtree(folder)
    write(broker, source)
    assert restored(broker, source, whorl_run(file, "--until-caught-up")) < KEYS / 10
    assert counts(broker, sink) == dict.fromkeys(map(str, range(KEYS)), 2)


def write(broker: Broker, topic: str) -> None:
    """A record of each key."""
    producer = Producer({"bootstrap.servers": broker.address, "partitioner": "murmur2_random"})
    for n in range(KEYS):
        producer.produce(topic, json.dumps({"key": str(n)}), str(n))
    assert producer.flush(30) == 0


def position(standby: Path) -> int:
    """How far it has followed."""
    note = standby / "standby"
    return Meta.decode(note.read_bytes()).position if note.exists() else 0


def restored(broker: Broker, pipeline: str, running: Running) -> int:
    """How many records of the changelog its tasks read before their first one."""
    clients, place = KafkaClients(broker.address), (naming.status_topic(pipeline), 0)
    before = Cluster(clients).latest([place])[place]
    assert running.wait(180) == 0, running.output
    registered = read_registration(clients, pipeline)
    assert registered is not None
    reader = StatusReader(clients, pipeline, registered.uid, before)
    news = [status for _ in range(5) for status in reader.read(1.0) if status.component == "count" and status.task < 2]
    reader.close()
    ends = {status.task: status.figures["readings"]["state"]["records"] for status in news if status.state == "ended"}
    assert len(ends) == 2
    return sum(ends.values())


def counts(broker: Broker, topic: str) -> dict[str, int]:
    rows = read_to_end(KafkaClients(broker.address), [(topic, 0), (topic, 1)])
    latest = Counter[str]()
    for row in (json.loads(message.value()) for message in rows):
        latest[row["key"]] = max(latest[row["key"]], row["count"])
    return dict(latest)
