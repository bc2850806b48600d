"""A real HDFS of one name node and one data node: `Hdfs(folder)`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.servers.minicluster import Server, hadoop_jvm


class Hdfs:
    def __init__(self, folder: Path) -> None:
        self._server = Server("tests.servers.hdfs", folder)
        self.url = self._server.first

    def rows(self, path: str) -> int:
        """Lines of all files in a folder that are not hidden."""
        return int(self._server.ask(path))

    def stop(self) -> None:
        self._server.stop()


def _serve(folder: str) -> None:
    gateway = hadoop_jvm()
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
    _serve(sys.argv[1])
