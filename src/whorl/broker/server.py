"""One node's JVM: its storage formatted, started, awaited; and what its log says when it dies."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from whorl.broker.cluster import Cluster, Node
from whorl.broker.ports import accepts
from whorl.broker.processes import Process, spawn
from whorl.broker.settings import properties
from whorl.errors import UsageError, WorldError
from whorl.jvm.jars import BROKER, Progress, resolve
from whorl.jvm.java import find_java

READY_WITHIN = 120.0
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
)
_HEAP = re.compile(r"\d+[kmg]", re.IGNORECASE)
_ERROR = re.compile(r"^.*\bERROR \S+ - (.*)$", re.MULTILINE)
_EXCEPTION = re.compile(
    r"^(?:Caused by: |Exception in thread \S+ )?(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): (.*)$", re.MULTILINE
)


class Launcher:
    """Knows Java, jars and heap once for all nodes."""

    def __init__(self, data: Path, heap: str, progress: Progress | None = None) -> None:
        if not _HEAP.fullmatch(heap):
            raise UsageError(f"'{heap}' is not a heap size", code="heap", hint="write it as 512m or 2g")
        self._data = data
        classpath = ":".join(map(str, resolve(BROKER, progress)))
        self._java = [str(find_java().executable), f"-Xmx{heap}", *_LOGGING, "-cp", classpath]

    def configure(self, cluster: Cluster, node: Node) -> None:
        self._settings(node).parent.mkdir(parents=True, exist_ok=True)
        self._settings(node).write_text(properties(cluster, node, self._data))

    def format(self, cluster: Cluster) -> None:
        """The storage of all nodes that have none yet, at once."""
        tool = [*self._java, "kafka.tools.StorageTool", "format", "-t", cluster.id, "-c"]
        running = [
            subprocess.Popen([*tool, str(self._settings(node))], stdout=PIPE, stderr=STDOUT, text=True)
            for node in cluster.nodes
            if not self._is_formatted(node)
        ]
        said = [process.communicate()[0] for process in running]
        for process, text in zip(running, said, strict=True):
            if process.returncode:
                raise _failed("the broker's storage could not be made", text, self._data)

    def start(self, node: Node) -> Process:
        return spawn([*self._java, "kafka.Kafka", str(self._settings(node))], node.log(self._data))

    def _is_formatted(self, node: Node) -> bool:
        # The last file that formatting writes.
        return (node.folder(self._data) / "data" / "meta.properties").exists()

    def _settings(self, node: Node) -> Path:
        return node.folder(self._data) / "server.properties"


def await_ready(cluster: Cluster, nodes: Sequence[Node], data: Path) -> None:
    """Until each of `nodes` answers and the cluster counts it in; a node that dies meanwhile is an error at once."""
    deadline = time.monotonic() + READY_WITHIN
    while not (all(accepts(node.port) for node in nodes) and _members(cluster) >= {node.id for node in nodes}):
        for node in nodes:
            if not node.process.alive:
                raise _failed(f"node {node.id} of the broker ended while it started", _tail(node, data), node.log(data))
            if time.monotonic() > deadline:
                late = f"node {node.id} of the broker did not answer within {READY_WITHIN:g} s"
                raise _failed(late, _tail(node, data), node.log(data))
        time.sleep(0.05)


def _members(cluster: Cluster) -> set[int]:
    try:
        admin = AdminClient({"bootstrap.servers": cluster.address, "log_level": 0, "reconnect.backoff.max.ms": 200})
        return set(admin.list_topics(timeout=5).brokers)
    except KafkaException:
        return set()


def _tail(node: Node, data: Path, size: int = 64 << 10) -> str:
    log = node.log(data)
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - size))
        return file.read().decode(errors="replace")


def _failed(what: str, text: str, where: Path) -> WorldError:
    # On a full disk the log breaks off before it can say so.
    if shutil.disk_usage(where).free < 1 << 20 or "No space left on device" in text:
        room = f"make room where '{where}' lies, or name another folder with --data"
        return WorldError(f"{what}: the disk is full", code="disk", hint=room)
    return WorldError(f"{what}: {_reason(text)}", code="broker-failed", hint=f"see '{where}'")


def _reason(text: str) -> str:
    """The last cause in a log, or else its last line."""
    found = _EXCEPTION.findall(text) or _ERROR.findall(text) or text.strip().splitlines()
    return found[-1].strip().rstrip(".") if found else "it said nothing"
