"""Pipelines run as a user runs them: `whorl run` in a process of its own, against the one real broker."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster


def eventually(condition: Callable[[], Any], within: float = 120.0, what: str = "", pause: float = 0.05) -> Any:
    until = time.monotonic() + within
    while time.monotonic() < until:
        if result := condition():
            return result
        time.sleep(pause)
    raise AssertionError(f"not within {within:g} s: {what or condition}")


def children(pid: int) -> list[int]:
    """Processes below this one, nearest first."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == pid:
            found.append(int(name.split()[0]))
    return found + [below for child in found for below in children(child)]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def whorl(address: str, folder: Path, *arguments: str) -> str:
    """A verb that ends by itself; gives its output."""
    command = [sys.executable, "-m", "whorl", *arguments, "--broker", address]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Running:
    """One `whorl run`, or another verb that runs a pipeline in the foreground."""

    def __init__(
        self, file: Path, address: str, *arguments: str, verb: str = "run", env: dict[str, str] | None = None
    ) -> None:
        what = str(file) if verb == "run" else ""
        command = [sys.executable, "-m", "whorl", verb, *filter(None, [what]), "--broker", address, *arguments]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            cwd=file.parent,
            env={**os.environ, "PYTHONFAULTHANDLER": "1", **(env or {})},
        )
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def jvm(self) -> int:
        return next(
            pid for pid in children(self.process.pid) if "org.apache.spark.deploy.SparkSubmit" in command_of(pid)
        )

    @property
    def daemon(self) -> int:
        return next(pid for pid in children(self.jvm) if "pyspark.daemon" in command_of(pid))

    def workers(self) -> list[int]:
        """Task processes: children of the pyspark daemon."""
        try:
            return [pid for pid in children(self.daemon) if "pyspark.daemon" in command_of(pid)]
        except StopIteration:
            return []

    def wait(self, within: float = 120.0) -> int:
        return self.process.wait(within)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill_all(self) -> None:
        below = children(self.process.pid)
        for pid in [self.process.pid, *below]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)


class Feed:
    """Writes numbered records per key, all the time, from a thread; knows what it wrote."""

    KEYS = 20

    def __init__(self, address: str, topic: str, every: float = 0.01) -> None:
        """Twenty records every so many seconds."""
        self.counts: dict[str, int] = defaultdict(int)
        self._every = every
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Feed:
        self._thread.start()
        return self

    def _run(self) -> None:
        while not self._over.wait(self._every):
            self.write(20)

    def write(self, records: int) -> None:
        for n in range(records):
            key = f"k{n % self.KEYS}"
            self._producer.produce(self._topic, json.dumps({"key": key, "n": self.counts[key]}).encode(), key.encode())
            self.counts[key] += 1
        self._producer.poll(0)

    def stop(self) -> int:
        self._over.set()
        if self._thread.ident:
            self._thread.join()
        assert self._producer.flush(60) == 0
        return sum(self.counts.values())


def judge(address: str, topic: str, expected: dict[str, int]) -> dict[str, int]:
    """What an independent read-committed consumer finds wrong."""
    clients = KafkaClients(address)
    partitions = Cluster(clients).partition_counts()[topic]
    seen: dict[str, list[int]] = defaultdict(list)
    for message in read_to_end(clients, [(topic, p) for p in range(partitions)]):
        row = json.loads(message.value())
        seen[row["key"]].append(row["n"])
    return {
        "lost": sum(len(set(range(count)) - set(seen[key])) for key, count in expected.items()),
        "doubled": sum(len(numbers) - len(set(numbers)) for numbers in seen.values()),
        "out_of_order": sum(a > b for numbers in seen.values() for a, b in itertools.pairwise(numbers)),
    }


CLEAN = {"lost": 0, "doubled": 0, "out_of_order": 0}


def grow(address: str, topic: str, partitions: int) -> None:
    """Returns when the broker shows all of them."""
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_partitions([NewPartitions(topic, partitions)]).values():
        future.result()
    last = partitions - 1
    eventually(lambda: admin.list_topics(topic, timeout=5).topics[topic].partitions.get(last), what="all partitions")


def more(address: str, topic: str, running: Running, within: float = 120.0) -> None:
    """Returns when something was written to a topic since."""
    cluster = Cluster(KafkaClients(address))

    def end() -> int:
        return sum(cluster.latest((topic, p) for p in range(cluster.partition_counts().get(topic, 0))).values())

    before = end()
    try:
        eventually(lambda: end() > before, within)
    except AssertionError:
        raise AssertionError(f"nothing comes to '{topic}':\n{running.output}") from None


def count_committed(address: str, topic: str) -> int:
    clients = KafkaClients(address)
    partitions = Cluster(clients).partition_counts().get(topic, 0)
    return sum(1 for _ in read_to_end(clients, [(topic, p) for p in range(partitions)]))
