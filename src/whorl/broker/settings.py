"""The `server.properties` of a node: KRaft broker and controller in one, on loopback, small, Kafka's own limits."""

from __future__ import annotations

from pathlib import Path

from whorl.broker.cluster import Cluster, Node
from whorl.broker.ports import HOST


def properties(cluster: Cluster, node: Node, data: Path) -> str:
    copies = min(3, len(cluster.nodes))
    settings = {
        "process.roles": "broker,controller",
        "node.id": node.id,
        "controller.quorum.voters": ",".join(f"{each.id}@{HOST}:{each.controller_port}" for each in cluster.nodes),
        "listeners": f"PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{node.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": node.folder(data) / "data",
        **_copies(copies, 2 if copies == 3 else 1),
        **_SMALL,
    }
    return "".join(f"{name}={_escaped(str(value))}\n" for name, value in settings.items())


def _copies(copies: int, in_sync: int) -> dict[str, int]:
    return {
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


_SMALL = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 8,
    "transaction.state.log.num.partitions": 8,
    "share.coordinator.state.topic.num.partitions": 8,
    # The controller admits a killed node again only when its old session has ended: 9 s by default.
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    # 128 MB of heap by default; a million keys a pass still fit.
    "log.cleaner.dedupe.buffer.size": 32 << 20,
}


def _escaped(value: str) -> str:
    """As a properties file wants it: a backslash begins an escape, and the file is read as Latin-1."""
    return value.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode()
