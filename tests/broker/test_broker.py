from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from whorl.broker import Broker
from whorl.broker.cluster import FILE, new_cluster, save
from whorl.broker.ports import assign, free_port
from whorl.broker.processes import Process, spawn
from whorl.cli.broker import app
from whorl.errors import UsageError, WorldError
from whorl.jvm.jars import TOOLS, resolve
from whorl.jvm.java import find_java

pytestmark = pytest.mark.kafka


def produce(address: str, topic: str, *values: bytes) -> None:
    """Inside a transaction, so that all of the broker's internal topics have to work."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    producer.commit_transaction(30)


def consume(address: str, topic: str, count: int, group: str = "") -> list[bytes | None]:
    settings = {"bootstrap.servers": address, "group.id": group or uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe([topic])
    messages = consumer.consume(count, timeout=30)
    if group:
        consumer.commit(message=messages[-1], asynchronous=False)
    consumer.close()
    return [message.value() for message in messages]


def create(address: str, topic: str, copies: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, 1, copies)])[topic].result(timeout=30)


def test_writes_and_reads(broker: Broker, topic: Callable[..., str]) -> None:
    name = topic()
    produce(broker.address, name, b"a", b"b")
    assert consume(broker.address, name, 2) == [b"a", b"b"]


def test_it_listens_on_loopback_only(broker: Broker) -> None:
    assert all(part.startswith("127.0.0.1:") for part in broker.address.split(","))
    with pytest.raises(OSError):
        # Another loopback address stands for every other interface.
        socket.create_connection(("127.0.0.2", int(broker.address.rpartition(":")[2])), timeout=2)


def test_another_process_finds_it(broker: Broker) -> None:
    code = f"from pathlib import Path; from whorl.broker import Broker; print(Broker.find(Path({str(broker.data)!r})).address)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert said.stdout.strip() == broker.address, said.stderr


def test_starting_it_again_returns_the_one_that_runs(broker: Broker) -> None:
    before = broker.status().nodes[0].pid
    assert Broker.start(broker.data).status().nodes[0].pid == before
    with pytest.raises(UsageError, match="runs already"):
        Broker.start(broker.data, port=1024)


def test_kafkas_own_tool_sees_groups(broker: Broker, topic: Callable[..., str]) -> None:
    name, group = topic(), uuid.uuid4().hex
    produce(broker.address, name, b"a", b"b", b"c")
    consume(broker.address, name, 1, group)
    tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    command = [str(find_java().executable), "-cp", os.pathsep.join(map(str, resolve(TOOLS))), tool]
    described = [*command, "--bootstrap-server", broker.address, "--describe", "--group", group]
    said = subprocess.run(described, capture_output=True, text=True)
    line = next(line.split() for line in said.stdout.splitlines() if name in line)
    assert line[1:6] == [name, "0", "1", "4", "3"], said.stdout  # the marker of the transaction counts


def test_killed_or_stopped_it_comes_back_with_its_data(tmp_path: Path) -> None:
    broker = Broker.start(tmp_path, heap="256m")
    try:
        address = broker.address
        create(address, "kept")
        produce(address, "kept", b"a")
        broker.kill()
        assert not broker.status().nodes[0].alive
        assert Broker.find(tmp_path) is None
        broker.restart()
        assert consume(address, "kept", 1) == [b"a"]
        assert "broker stopped" in command("stop", tmp_path)
        assert [node.alive for node in broker.status().nodes] == [False]
        assert f"broker started at {address}" in command("start", tmp_path)
        assert consume(address, "kept", 1) == [b"a"]
    finally:
        broker.stop()


def command(verb: str, data: Path) -> str:
    return CliRunner().invoke(app, [verb, "--data", str(data)], catch_exceptions=False).output


def test_three_nodes_go_on_without_one(tmp_path: Path) -> None:
    broker = Broker.start(tmp_path, nodes=3, heap="256m")
    try:
        assert len(broker.address.split(",")) == 3
        create(broker.address, "copied", copies=3)
        broker.kill(1)
        produce(broker.address, "copied", b"a")
        assert [node.alive for node in broker.status().nodes] == [True, False, True]
        with pytest.raises(UsageError, match="has 3 nodes, not 1"):
            Broker.start(tmp_path, nodes=1)
    finally:
        for node in range(3):
            broker.kill(node)


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port(set())))
        listener.listen()
        with pytest.raises(WorldError, match="is in use by another process") as error:
            Broker.start(tmp_path, port=listener.getsockname()[1])
    assert error.value.code == "port-in-use"


def test_ports_are_kept_when_free_and_follow_the_first() -> None:
    first = free_port(set())
    controller = free_port({first})
    assert assign(1, None, [(first, controller)]) == [(first, controller)]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", controller))
        listener.listen()
        ((port, other),) = assign(1, None, [(first, controller)])
    assert port == first
    assert other != controller
    with pytest.raises(UsageError, match="out of range"):
        assign(3, 65_535, [])


def test_a_cluster_id_is_never_taken_for_an_option() -> None:
    ids = [new_cluster([(1, 2)], "512m").id for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert not [id for id in ids if id.startswith("-") or len(id) != 22]


def test_a_node_that_dies_tells_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'lots' is not a heap size"):
        Broker.start(tmp_path, heap="lots")
    with pytest.raises(WorldError) as error:
        Broker.start(tmp_path, heap="1k")
    assert error.value.code == "broker-failed"
    assert "Too small maximum heap" in str(error.value)
    assert Broker.find(tmp_path) is None


def test_a_folder_without_or_with_a_strange_file(tmp_path: Path) -> None:
    assert Broker.find(tmp_path / "none") is None
    with pytest.raises(WorldError, match="there is no broker"):
        Broker(tmp_path).status()
    (tmp_path / FILE).write_text(json.dumps({"version": 1}))
    with pytest.raises(WorldError, match="does not describe a broker"):
        Broker.find(tmp_path)


def test_a_pid_that_someone_else_has_now_is_not_the_broker(tmp_path: Path) -> None:
    ours = spawn(["/bin/sleep", "60"], tmp_path / "log")
    try:
        cluster = new_cluster([(1, 2)], "512m")
        for process, found in ((ours, True), (Process(ours.pid, ours.started + "0"), False)):
            save(tmp_path, cluster.with_node(replace(cluster.nodes[0], process=process)))
            assert (Broker.find(tmp_path) is not None) is found
        Broker(tmp_path).stop()
        assert ours.alive
    finally:
        os.kill(ours.pid, 9)
    assert ours.ended_within(10)
    assert ours.memory == 0
