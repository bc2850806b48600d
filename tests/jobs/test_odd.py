"""Records and names that are legal but odd, and a topic that goes away under a running job."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from running import Running, count_committed, eventually

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster
from whorl.plan import naming

ODD = [
    (None, b""),
    (b"", b""),
    (b"key", None),
    (b"\xff\xfe", b"\xff\xfe no text"),
    (b"large", os.urandom(1_000_000)),
    ("ключ".encode(), "значение".encode()),
]


def test_odd_records_names_and_a_topic_deleted(
    broker: Broker, whorl_run: Callable[..., Running], topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink, name = topic(1), topic(1), f"odd näme/€ {os.getpid()}"
    file = tmp_path / "odd.yaml"
    file.write_text(
        f"name: '{name}'\n"
        f"sources: {{'in put': {{type: kafka, topic: {source}, format: bytes}}}}\n"
        "operators:\n"
        "  - {id: 'zwei/ß', type: forward, from: in put}\n"
        "  - {id: drei, type: forward, from: {id: 'zwei/ß', via: topic}}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: drei, format: bytes}}}}\n"
        "settings: {tasks: 1, partitions: 1}\n",
        encoding="utf-8",
    )
    producer = Producer({"bootstrap.servers": broker.address, "message.max.bytes": 2_000_000})
    for key, value in ODD:
        producer.produce(source, value, key, 0, headers=[("odd", None), ("odd", b"\x00")])
    assert producer.flush(30) == 0
    running = whorl_run(file)
    eventually(lambda: count_committed(broker.address, sink) == len(ODD), what=f"all records; {running.output}")
    clients = KafkaClients(broker.address)
    came = list(read_to_end(clients, [(sink, 0)]))
    assert [(message.key(), message.value()) for message in came] == ODD
    assert all(message.headers() == [("odd", None), ("odd", b"\x00")] for message in came)
    assert count_committed(broker.address, naming.dead_letter_topic(name)) == 0

    Cluster(clients).delete([source])
    assert running.wait(60) == 3
    assert f"[topic-gone] topic '{source}' does not exist any more" in running.output
    assert "Traceback" not in running.output


def test_python_that_cannot_start_on_executors_is_told(
    whorl_run: Callable[..., Running], forward: tuple[Path, str, str]
) -> None:
    """Spark would try it for ever, and nothing would be heard of it."""
    file = forward[0]
    file.write_text(
        file.read_text().replace("tasks: 2", "tasks: 2, spark: {spark.python.daemon.module: nosuch.daemon}")
    )
    running = whorl_run(file)
    assert running.wait() == 3, running.output
    assert "[spark] Spark cannot start the tasks of 'copy': " in running.output
    assert "nosuch" in running.output
