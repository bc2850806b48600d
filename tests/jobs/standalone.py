"""A standalone Spark cluster on loopback: one master, some workers, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path

from running import eventually

from whorl.broker.ports import free_port
from whorl.jvm.java import find_java


class StandaloneCluster:
    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._taken: set[int] = set()
        port, self._ui = self._port(), self._port()
        self.master = f"spark://127.0.0.1:{port}"
        self._start(
            "org.apache.spark.deploy.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--webui-port",
            str(self._ui),
        )
        for n in range(workers):
            place = ("--cores", "4", "--memory", "1g", "--work-dir", str(folder / f"work-{n}"), "--host", "127.0.0.1")
            self._start("org.apache.spark.deploy.worker.Worker", *place, "--webui-port", str(self._port()), self.master)
        eventually(lambda: self._alive() == workers, within=90, what="all workers register")

    def _port(self) -> int:
        port = free_port(self._taken)
        self._taken.add(port)
        return port

    def _start(self, main: str, *arguments: str) -> None:
        spec = find_spec("pyspark")
        assert spec and spec.origin
        home = Path(spec.origin).parent
        command = [str(home / "bin" / "spark-class"), main, *arguments]
        environment = {
            **os.environ,
            "JAVA_HOME": str(find_java().home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        log = (self._folder / f"{main.rsplit('.', 1)[1]}-{len(self._processes)}.log").open("wb")
        self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))

    def _alive(self) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ui}/json/", timeout=2) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):  # not up, or up without its JSON page
            return -1

    def executors(self) -> list[int]:
        """Pids of executor JVMs."""
        found = []
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = command.read_bytes()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in words and self.master.encode() not in words:
                found.append(int(command.parent.name))
        return [pid for pid in found if self._is_ours(pid)]

    def kill_a_worker(self) -> None:
        """With its executors, as when its machine dies."""
        worker = self._processes[-1]
        below = [
            pid for pid in self.executors() if f"/work-{len(self._processes) - 2}/" in os.readlink(f"/proc/{pid}/cwd")
        ]
        worker.kill()
        for pid in below:
            os.kill(pid, signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        try:
            return os.readlink(f"/proc/{pid}/cwd").startswith(str(self._folder))
        except OSError:
            return False

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()
