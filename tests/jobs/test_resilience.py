"""A cluster of three under load: a topic grows, leadership moves, a broker is killed. Nothing is lost and nothing doubled, on either host."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from outside import kafka_tool
from running import Feed, Running, count_committed, eventually, grow, judge, more

from whorl.broker import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.long]
PIPELINE = """
name: resilient
sources: {numbers: {type: kafka, topic: numbers, format: json, schema: {key: string, n: long}}}
operators:
  - {id: copy, type: map, from: numbers, columns: {seen: 'true'}}
  - {id: chosen, type: sql, query: "SELECT key, n, true AS seen FROM numbers WHERE n >= 0"}
sinks:
  copied: {type: kafka, topic: copied, from: copy}
  selected: {type: kafka, topic: selected, from: chosen}
settings: {tasks: 2, partitions: 4}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Broker]:
    running = Broker.start(tmp_path / "cluster", nodes=3, heap="384m")
    yield running
    running.stop()


def leader(admin: AdminClient, partition: int) -> int:
    return int(admin.list_topics("numbers", timeout=10).topics["numbers"].partitions[partition].leader)


def move_leadership(address: str, admin: AdminClient, folder: Path) -> None:
    """Partition 0 gets another leader, in order."""
    before = leader(admin, 0)
    others = [node for node in range(3) if node != before]
    plan = {"version": 1, "partitions": [{"topic": "numbers", "partition": 0, "replicas": [*others, before]}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    asked = ("--bootstrap-server", address, "--reassignment-json-file", str(folder / "plan.json"), "--execute")
    kafka_tool("reassign.ReassignPartitionsCommand", *asked)
    admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("numbers", 0)]).result(30)
    eventually(lambda: leader(admin, 0) == others[0], what="another leader")


def write_to_new_partitions(address: str) -> dict[str, int]:
    """By a client that knows all partitions; what was written, by key."""
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    for partition in range(2, 6):
        for n in range(50):
            value = json.dumps({"key": f"p{partition}", "n": n}).encode()
            producer.produce("numbers", value, f"p{partition}".encode(), partition)
    assert producer.flush(60) == 0
    return {f"p{partition}": 50 for partition in range(2, 6)}


def test_growth_another_leader_and_a_dead_broker(cluster: Broker, tmp_path: Path) -> None:
    address, file = cluster.address, tmp_path / "resilient.yaml"
    file.write_text(PIPELINE)
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for topic in admin.create_topics([NewTopic("numbers", 2, 3)]).values():
        topic.result(30)
    feed = Feed(address, "numbers", every=0.1).start()
    running = Running(file, address)
    try:
        for sink in ("copied", "selected"):
            more(address, sink, running, within=400)
        grow(address, "numbers", 6)
        expected = write_to_new_partitions(address)
        move_leadership(address, admin, tmp_path)
        eventually(lambda: "'numbers' has 6 partitions now, and had 2" in running.output, 120, running.output)
        killed = leader(admin, 1)
        cluster.kill(killed)
        for sink in ("copied", "selected"):
            more(address, sink, running, within=400)
        cluster.restart(killed)
        feed.stop()
        expected = {**expected, **feed.counts}
        for sink in ("copied", "selected"):
            eventually(lambda sink=sink: count_committed(address, sink) >= sum(expected.values()), 400, running.output)
        running.process.send_signal(signal.SIGTERM)
        assert running.wait(120) == 0, running.output
    finally:
        feed.stop()
        if running.process.poll() is None:
            running.kill_all()
    for sink in ("copied", "selected"):
        found = judge(address, sink, expected)
        assert (found["lost"], found["doubled"]) == (0, 0), (sink, running.output)
