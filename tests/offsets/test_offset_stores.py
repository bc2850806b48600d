"""The stores as they really are."""

from __future__ import annotations

from pathlib import Path

import pytest
from kazoo.client import KazooClient

from whorl.broker.zookeeper import ZooKeeper
from whorl.config.offset_stores import store_url
from whorl.kafka.clients import KafkaClients
from whorl.offsets.store import open_store

pytestmark = pytest.mark.kafka


def test_zookeeper_has_the_classic_layout_below_a_chroot(tmp_path: Path) -> None:
    server = ZooKeeper.start(tmp_path)
    try:
        store = open_store(store_url(f"zookeeper://{server.address}/deep/kafka"), KafkaClients(""))
        assert store.read("g") == {}
        store.write("g", {("t", 0): 5, ("t", 11): 7})
        store.write("g", {("t", 0): 6})
        assert store.read("g") == {("t", 0): 6, ("t", 11): 7}
        client = KazooClient(hosts=server.address)
        client.start(30)
        assert client.get("/deep/kafka/consumers/g/offsets/t/11")[0] == b"7"
        client.stop()
        store.close()
    finally:
        server.stop()
