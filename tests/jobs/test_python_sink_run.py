"""A python sink that is killed in the middle of a call, with its ids in a real Redis: nothing is done twice, and what is in doubt is told.

The same run shows the figures of pace, latency and connections that its tasks report.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from confluent_kafka import Producer
from running import Running, eventually

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster

SEND = """
import os, pathlib, signal

def send(row):
    folder = pathlib.Path(row["folder"])
    with (folder / "sent").open("a") as file:
        file.write(row["id"] + "\\n")
    if row["id"] == "boom" and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
"""
PIPELINE = """
name: NAME
sources:
  orders: {type: kafka, topic: TOPIC, schema: {id: string, folder: string}}
sinks:
  mail: {type: python, function: mailing.send, from: orders, idempotent_by: id, store: "REDIS"}
settings: {tasks: 1, restart: {delay: 100ms}, backpressure: true, max_rate_per_partition: 2000}
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    client = redis.Redis(port=port)

    def answers() -> bool:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False

    eventually(answers, 20, "Redis answers")
    yield f"redis://127.0.0.1:{port}/0"
    server.terminate()
    server.wait(20)


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server (Debian package 'redis-server')")
def test_killed_in_a_call(
    broker: Broker, topic: Callable[..., str], store: str, tmp_path: Path, whorl_run: Callable[..., Running]
) -> None:
    source, name = topic(1), "mails-killed"
    (tmp_path / "mailing.py").write_text(SEND)
    text = PIPELINE.replace("NAME", name).replace("TOPIC", source).replace("REDIS", store)
    (tmp_path / "pipeline.yaml").write_text(text)
    producer = Producer({"bootstrap.servers": broker.address})
    ids = [f"m{n}" for n in range(50)]
    for id in (*ids[:20], "boom", *ids, "boom", *ids):
        producer.produce(source, json.dumps({"id": id, "folder": str(tmp_path)}).encode())
    assert producer.flush(30) == 0
    running = whorl_run(tmp_path / "pipeline.yaml", "--until-caught-up")
    assert running.wait(240) == 0, running.output
    assert Counter((tmp_path / "sent").read_text().split()) == Counter([*ids, "boom"]), running.output
    clients, dead = KafkaClients(broker.address), f"{name}.dead"
    letters = list(read_to_end(clients, [(dead, p) for p in range(Cluster(clients).partition_counts()[dead])]))
    errors = [dict(letter.headers())["whorl-error"].decode() for letter in letters]
    assert len(errors) == 2 and all(error.startswith("InDoubt: it was begun for boom before") for error in errors)
    kept = redis.Redis.from_url(store)
    states = Counter(kept.get(key) for key in kept.keys("whorl:mailing.send:*"))
    assert states == {b"done": 50, b"claimed": 1}
    assert "latency p50" in running.output, running.output
