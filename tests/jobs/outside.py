"""What others than Whorl say: Kafka's own tools, and a Redis of the system."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whorl.broker.ports import accepts, free_port
from whorl.jvm.jars import TOOLS, resolve
from whorl.jvm.java import find_java

HAS_REDIS = shutil.which("redis-server") is not None


def kafka_tool(main: str, *arguments: str) -> list[list[str]]:
    """The cells of what it prints."""
    classpath = ":".join(map(str, resolve(TOOLS)))
    command = [str(find_java().executable), "-cp", classpath, f"org.apache.kafka.tools.{main}", *arguments]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    return [line.split() for line in done.stdout.splitlines() if line.strip()]


def lag_of(address: str, group: str) -> dict[tuple[str, int], tuple[int, int]]:
    """Committed offset and lag, by topic and partition, as `kafka-consumer-groups --describe` shows them."""
    asked = ("--bootstrap-server", address, "--describe", "--group", group)
    rows = kafka_tool("consumer.group.ConsumerGroupCommand", *asked)
    return {(row[1], int(row[2])): (int(row[3]), int(row[5])) for row in rows if row[0] == group}


def open_transactions(address: str) -> list[str]:
    """Transactional ids that `kafka-transactions list` does not show as at rest."""
    rows = kafka_tool("TransactionsCommand", "--bootstrap-server", address, "list")
    return [f"{row[0]} {row[-1]}" for row in rows[1:] if row[-1] not in ("Empty", "CompleteCommit", "CompleteAbort")]


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """Its URL."""
    port = free_port(set())
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not accepts(port):
            assert process.poll() is None
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(10)
