"""What a broker's folder says of it: its nodes, their ports and processes. Frozen data, kept in `broker.json`."""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from whorl.broker.ports import HOST
from whorl.broker.processes import Process
from whorl.errors import WorldError

FILE = "broker.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    port: int
    controller_port: int
    process: Process

    def folder(self, data: Path) -> Path:
        return data / f"node-{self.id}"

    def log(self, data: Path) -> Path:
        return self.folder(data) / "server.log"


@dataclass(frozen=True, slots=True)
class Cluster:
    id: str
    heap: str
    nodes: tuple[Node, ...]

    @property
    def address(self) -> str:
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    def with_node(self, node: Node) -> Cluster:
        return replace(self, nodes=tuple(node if old.id == node.id else old for old in self.nodes))


def new_cluster(ports: Sequence[tuple[int, int]], heap: str) -> Cluster:
    """A cluster that has never run, from the (port, controller port) of each node."""
    # With its first bit 0 the id never begins with a dash, which Kafka's tools would take for an option.
    id = base64.urlsafe_b64encode((uuid.uuid4().int >> 1).to_bytes(16)).decode().rstrip("=")
    nodes = (Node(at, port, controller, Process(0, "")) for at, (port, controller) in enumerate(ports))
    return Cluster(id, heap, tuple(nodes))


def load(data: Path) -> Cluster | None:
    try:
        text = (data / FILE).read_text()
    except FileNotFoundError:
        return None
    try:
        content = json.loads(text)
        nodes = (Node(**{**node, "process": Process(**node["process"])}) for node in content["nodes"])
        return Cluster(content["id"], content["heap"], tuple(nodes))
    except (KeyError, TypeError, ValueError) as error:
        damaged = f"'{data / FILE}' does not describe a broker"
        raise WorldError(damaged, code="broker-damaged", hint="name another folder with --data") from error


def save(data: Path, cluster: Cluster) -> None:
    """By rename: a reader sees the old file or the new one, never a part."""
    draft = data / f"{FILE}.draft"
    with draft.open("w") as file:
        file.write(json.dumps({"version": _VERSION, **asdict(cluster)}, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(data / FILE)
