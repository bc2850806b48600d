"""Hadoop's servers on this machine, each in a process of its own that reads commands from its standard input and ends with it. Their jars are
pinned as Whorl's own are; `python -m tests.servers.minicluster` makes the lock anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from whorl.jvm.jars import JarSet, resolve
from whorl.jvm.lock import write_lock

LOCK = Path(__file__).with_name("jars.lock.json")
MINICLUSTER = JarSet(
    "minicluster",
    (
        "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
        "org.junit.jupiter:junit-jupiter-api:5.8.2",
        "org.junit.platform:junit-platform-commons:1.8.2",
        "org.opentest4j:opentest4j:1.2.0",
        "org.bouncycastle:bcprov-jdk18on:1.82",
        "org.bouncycastle:bcpkix-jdk18on:1.82",
        "org.bouncycastle:bcutil-jdk18on:1.82",
    ),
)


class Server:
    """The module of the child prints `answer` and a word when it is up, and for each line that it is sent."""

    def __init__(self, module: str, folder: Path) -> None:
        command = [sys.executable, "-m", module, str(folder)]
        root = Path(__file__).parent.parent.parent
        self._log = (folder.parent / f"{folder.name}.log").open("w")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, cwd=root
        )
        self.first = self.answer()

    def ask(self, line: str) -> str:
        assert self._process.stdin
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> str:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("answer "):
                return line.split()[1]
        raise AssertionError(f"the server has ended: see {self._log.name}")

    def stop(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        self._log.close()


def hadoop_jvm() -> Any:
    """In the child: a gateway whose JVM has Hadoop's servers."""
    from pyspark.java_gateway import launch_gateway

    jars = ":".join(str(path) for path in resolve(MINICLUSTER, lock=LOCK))
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-class-path {jars} --driver-memory 512m pyspark-shell"
    return launch_gateway()


if __name__ == "__main__":
    write_lock((MINICLUSTER,), LOCK)
