"""A real YARN of one resource manager and one node manager: `Yarn(folder)`; `conf` is what HADOOP_CONF_DIR is to name."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.servers.minicluster import Server, hadoop_jvm

from whorl.broker.ports import free_port

_ADDRESSES = (
    "yarn.resourcemanager.address",
    "yarn.resourcemanager.scheduler.address",
    "yarn.resourcemanager.resource-tracker.address",
    "yarn.resourcemanager.admin.address",
    "yarn.resourcemanager.webapp.address",
)
_SETTINGS = {
    "yarn.minicluster.fixed.ports": "true",
    "yarn.resourcemanager.hostname": "127.0.0.1",
    "yarn.scheduler.capacity.root.queues": "default,night",
    "yarn.scheduler.capacity.root.default.capacity": "50",
    "yarn.scheduler.capacity.root.night.capacity": "50",
    "yarn.scheduler.capacity.root.night.maximum-capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    "yarn.scheduler.minimum-allocation-mb": "128",
    "yarn.nodemanager.resource.memory-mb": "6144",
    "yarn.nodemanager.resource.cpu-vcores": "16",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.enable": "false",
}


class Yarn:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._server = Server("tests.servers.yarn", folder)
        self.conf = Path(self._server.first)

    def queues(self) -> list[str]:
        """Of the applications that there have been, in the order they came."""
        return self._server.ask("queues").split(",")

    def stop(self) -> None:
        self._server.stop()


def _serve(folder: Path) -> None:
    gateway = hadoop_jvm()
    yarn = gateway.jvm.org.apache.hadoop.yarn
    taken: set[int] = set()
    settings = dict(_SETTINGS)
    for name in _ADDRESSES:
        port = free_port(taken)
        taken.add(port)
        settings[name] = f"127.0.0.1:{port}"
    conf = yarn.conf.YarnConfiguration()
    for name, value in settings.items():
        conf.set(name, value)
    gateway.jvm.java.lang.System.setProperty("test.build.data", str(folder))
    cluster = yarn.server.MiniYARNCluster("whorl", 1, 1, 1)
    cluster.init(conf)
    cluster.start()
    cluster.waitForNodeManagersToConnect(60_000)
    print("answer", _written(folder, settings), flush=True)
    for _ in sys.stdin:
        applications = cluster.getResourceManager().getRMContext().getRMApps().values()
        found = sorted((app.getApplicationId().getId(), str(app.getQueue()).rpartition(".")[2]) for app in applications)
        print("answer", ",".join(queue for _, queue in found) or "-", flush=True)
    cluster.stop()
    gateway.shutdown()


def _written(folder: Path, settings: dict[str, str]) -> Path:
    """What a client must know, and no more."""
    told = {name: settings[name] for name in (*_ADDRESSES, "yarn.resourcemanager.hostname")}
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in told.items()
    )
    conf = folder / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(f"<configuration>{properties}</configuration>")
    (conf / "core-site.xml").write_text("<configuration/>")
    return conf


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
