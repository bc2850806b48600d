"""A real Kafka cluster (KRaft) in a folder, for development, demos and tests.

It runs detached and outlives its starter. The folder is the whole truth: whoever opens it sees the same nodes, and a
later start there finds the same data and, unless they were taken meanwhile, the same ports. Loopback only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGKILL, SIGTERM

from whorl.broker.cluster import Cluster, Node, load, new_cluster, save
from whorl.broker.ports import assign
from whorl.broker.server import Launcher, await_ready
from whorl.errors import UsageError, WorldError
from whorl.jvm.cache import exclusive
from whorl.jvm.jars import Progress

DEFAULT_FOLDER = Path(".whorl/broker")
DEFAULT_HEAP = "512m"
STOP_WITHIN = 15.0


@dataclass(frozen=True, slots=True)
class NodeStatus:
    id: int
    pid: int
    port: int
    alive: bool
    memory: int
    """Resident bytes."""
    log: Path


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    address: str
    data: Path
    nodes: tuple[NodeStatus, ...]


class Broker:
    """A handle on the cluster in a folder; holds nothing that the folder does not."""

    def __init__(self, data: Path) -> None:
        self.data = data.absolute()

    @classmethod
    def start(
        cls,
        data: Path,
        *,
        nodes: int | None = None,
        port: int | None = None,
        heap: str = DEFAULT_HEAP,
        progress: Progress | None = None,
    ) -> Broker:
        """Every node that does not run yet is started; returns when all answer.

        `nodes` is 1 in a new folder and stays what it is in an old one. `port` is the first node's, the others follow.
        """
        broker = cls(data)
        with broker._changing():
            cluster = broker._as_wanted(nodes, port) or new_cluster(assign(nodes or 1, port, []), heap)
            if dead := [node for node in cluster.nodes if not node.process.alive]:
                broker._run(Launcher(broker.data, heap, progress), replace(cluster, heap=heap), dead)
        return broker

    @classmethod
    def find(cls, data: Path) -> Broker | None:
        """The broker that runs in this folder."""
        broker = cls(data)
        cluster = load(broker.data)
        return broker if cluster and any(node.process.alive for node in cluster.nodes) else None

    @property
    def address(self) -> str:
        return self._cluster().address

    def status(self) -> BrokerStatus:
        cluster = self._cluster()
        return BrokerStatus(cluster.address, self.data, tuple(self._node_status(node) for node in cluster.nodes))

    def stop(self) -> None:
        """Ask all nodes at once, since none could leave in order when the others are gone; end those that stay."""
        with self._changing():
            nodes = self._cluster().nodes
            for node in nodes:
                node.process.send(SIGTERM)
            deadline = time.monotonic() + STOP_WITHIN
            for node in nodes:
                if not node.process.ended_within(deadline - time.monotonic()):
                    self._end(node)

    def kill(self, node: int = 0) -> None:
        """As a crash would."""
        self._end(self._cluster().nodes[node])

    def restart(self, node: int = 0) -> None:
        """Start a node that was killed again, on its own port and data."""
        with self._changing():
            cluster = self._cluster()
            if not cluster.nodes[node].process.alive:
                self._run(Launcher(self.data, cluster.heap), cluster, [cluster.nodes[node]])

    def _cluster(self) -> Cluster:
        if cluster := load(self.data):
            return cluster
        raise WorldError(f"there is no broker in '{self.data}'", code="broker-missing", hint="whorl broker start")

    def _as_wanted(self, nodes: int | None, port: int | None) -> Cluster | None:
        """The folder's cluster, with the ports it can have now; None in a new folder."""
        cluster = load(self.data)
        if cluster is None:
            return None
        if nodes not in (None, len(cluster.nodes)):
            has = f"the broker in '{self.data}' has {len(cluster.nodes)} nodes, not {nodes}"
            raise UsageError(has, code="broker-nodes", hint="name another folder with --data")
        if any(node.process.alive for node in cluster.nodes):
            return _on_port(cluster, port)
        ports = assign(len(cluster.nodes), port, [(node.port, node.controller_port) for node in cluster.nodes])
        moved = (
            replace(node, port=at, controller_port=controller)
            for node, (at, controller) in zip(cluster.nodes, ports, strict=True)
        )
        return replace(cluster, nodes=tuple(moved))

    def _run(self, launcher: Launcher, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """The cluster's id is noted before any storage has it, each process as soon as there is one."""
        save(self.data, cluster)
        for node in cluster.nodes:
            launcher.configure(cluster, node)
        launcher.format(cluster)
        started = []
        for node in nodes:
            started.append(replace(node, process=launcher.start(node)))
            cluster = cluster.with_node(started[-1])
            save(self.data, cluster)
        self._await(cluster, started)

    def _await(self, cluster: Cluster, started: Sequence[Node]) -> None:
        try:
            await_ready(cluster, started, self.data)
        except BaseException:
            for node in started:
                self._end(node)
            raise

    def _end(self, node: Node) -> None:
        node.process.send(SIGKILL)
        node.process.ended_within(STOP_WITHIN)

    def _node_status(self, node: Node) -> NodeStatus:
        process = node.process
        return NodeStatus(node.id, process.pid, node.port, process.alive, process.memory, node.log(self.data))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One process at a time starts or stops nodes of a folder."""
        try:
            with exclusive(self.data / "lock"):
                yield
        except OSError as error:
            raise WorldError(
                f"the broker's folder '{self.data}' cannot be written: {error.strerror}",
                code="disk",
                hint="make room or access there, or name another folder with --data",
            ) from error


def _on_port(cluster: Cluster, port: int | None) -> Cluster:
    if port in (None, cluster.nodes[0].port):
        return cluster
    raise UsageError(
        f"the broker runs already, at {cluster.address}, not on port {port}",
        code="broker-running",
        hint="whorl broker stop first, or name another folder with --data",
    )
