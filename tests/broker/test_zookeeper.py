from __future__ import annotations

from pathlib import Path

import pytest
from kazoo.client import KazooClient

from whorl.broker.zookeeper import ZooKeeper

pytestmark = pytest.mark.kafka


def test_keeps_what_it_was_told_over_a_crash_on_the_same_port(tmp_path: Path) -> None:
    server = ZooKeeper.start(tmp_path)
    try:
        address = server.address
        client = KazooClient(hosts=address)
        client.start(30)
        client.create("/a/b", b"kept", makepath=True)
        server.kill()
        assert not server.alive
        assert ZooKeeper.start(tmp_path).address == address
        assert client.retry(client.get, "/a/b")[0] == b"kept"
        client.stop()
    finally:
        server.stop()
    assert not server.alive
