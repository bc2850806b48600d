"""A real HDFS of one name node and one data node, in a process of its own: `Hdfs.start()`. Its jars are pinned as Whorl's own are;
`python -m tests.servers.hdfs lock` makes the lock anew."""

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


class Hdfs:
    """The child reads commands from its standard input, and ends with it."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.servers.hdfs", str(folder)]
        root = Path(__file__).parent.parent.parent
        self._log = (folder.parent / "hdfs.log").open("w")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, cwd=root
        )
        self.url = self._answer()

    def rows(self, path: str) -> int:
        """Lines of all files in a folder that are not hidden."""
        assert self._process.stdin
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        return int(self._answer())

    def stop(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        self._log.close()

    def _answer(self) -> str:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("answer "):
                return line.split()[1]
        raise AssertionError(f"HDFS has ended: see {self._log.name}")


def _serve(folder: str) -> None:
    from pyspark.java_gateway import launch_gateway

    jars = ":".join(str(path) for path in resolve(MINICLUSTER, lock=LOCK))
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-class-path {jars} --driver-memory 512m pyspark-shell"
    gateway: Any = launch_gateway()
    hadoop = gateway.jvm.org.apache.hadoop
    conf = hadoop.conf.Configuration()
    conf.set("hdfs.minidfs.basedir", folder)
    conf.set("dfs.replication", "1")
    conf.set("dfs.permissions.enabled", "false")
    cluster = getattr(hadoop.hdfs, "MiniDFSCluster$Builder")(conf).numDataNodes(1).build()
    cluster.waitActive()
    files = cluster.getFileSystem()
    print("answer", str(files.getUri()), flush=True)
    for line in sys.stdin:
        print("answer", _lines(gateway, files, line.strip()), flush=True)
    cluster.shutdown()
    gateway.shutdown()


def _lines(gateway: Any, files: Any, folder: str) -> int:
    path = gateway.jvm.org.apache.hadoop.fs.Path(folder)
    if not files.exists(path):
        return 0
    found, count = files.listFiles(path, True), 0
    while found.hasNext():
        path = found.next().getPath()
        if not str(path.getName()).startswith(("_", ".")) and "_spark_metadata" not in str(path):
            stream = files.open(path)
            count += bytes(gateway.jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).count(b"\n")
            stream.close()
    return count


if __name__ == "__main__":
    write_lock((MINICLUSTER,), LOCK) if sys.argv[1:] == ["lock"] else _serve(sys.argv[1])
