"""A real ZooKeeper in a folder, from the jars inside pyspark: for tests, and for trying what stands on one.

As the embedded Kafka it runs detached, on loopback, and the folder is the whole truth: a later start there finds the same
data and, unless it was taken meanwhile, the same port.
"""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from signal import SIGKILL, SIGTERM

from whorl.broker.ports import HOST, free_port, is_free
from whorl.broker.processes import Process, spawn
from whorl.errors import WorldError
from whorl.jvm.cache import exclusive
from whorl.jvm.ivy import spark_jars
from whorl.jvm.java import find_java

READY_WITHIN = 60.0
STOP_WITHIN = 10.0
_FILE = "zookeeper.json"
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class ZooKeeper:
    """A handle on the server in a folder; holds nothing that the folder does not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @classmethod
    def start(cls, folder: Path, heap: str = "128m") -> ZooKeeper:
        """Returns when it answers. One that runs there already stays as it is."""
        server = cls(folder)
        server.folder.mkdir(parents=True, exist_ok=True)
        with exclusive(server.folder / "lock"):
            port, process = server._known()
            if not process.alive:
                server._run(port if port and is_free(port) else free_port(set()), heap)
        return server

    @property
    def address(self) -> str:
        return f"{HOST}:{self._known()[0]}"

    @property
    def alive(self) -> bool:
        return self._known()[1].alive

    def stop(self) -> None:
        process = self._known()[1]
        process.send(SIGTERM)
        if not process.ended_within(STOP_WITHIN):
            self.kill()

    def kill(self) -> None:
        """As a crash would."""
        process = self._known()[1]
        process.send(SIGKILL)
        process.ended_within(STOP_WITHIN)

    def _known(self) -> tuple[int, Process]:
        with suppress(FileNotFoundError):
            noted = json.loads((self.folder / _FILE).read_text())
            return noted["port"], Process(**noted["process"])
        return 0, Process(0, "")

    def _run(self, port: int, heap: str) -> None:
        settings = self.folder / "zoo.cfg"
        settings.write_text(
            f"dataDir={self.folder / 'data'}\nclientPort={port}\nclientPortAddress={HOST}\n"
            "tickTime=500\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        )
        java = [str(find_java().executable), f"-Xmx{heap}", "-cp", str(spark_jars() / "*")]
        process = spawn([*java, _MAIN, str(settings)], self.folder / "server.log")
        (self.folder / _FILE).write_text(json.dumps({"port": port, "process": asdict(process)}))
        self._await(port, process)

    def _await(self, port: int, process: Process) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while not _answers(port):
            if not process.alive or time.monotonic() > deadline:
                how = f"did not answer within {READY_WITHIN:g} s" if process.alive else "ended while it started"
                self.kill()
                raise WorldError(f"ZooKeeper {how}", code="zookeeper", hint=f"see '{self.folder / 'server.log'}'")
            time.sleep(0.05)


def _answers(port: int) -> bool:
    """Its port is open before it serves anybody."""
    try:
        with socket.create_connection((HOST, port), timeout=5) as asked:
            asked.sendall(b"srvr")
            return b"Zookeeper version" in asked.recv(64)
    except OSError:
        return False
