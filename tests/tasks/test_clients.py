"""Clients of the data path are counted for as long as they are open, and open in tasks alone."""

from __future__ import annotations

import gc

import pytest

from whorl.errors import WorldError
from whorl.tasks.clients import CountedConsumer, CountedProducer, TaskClients, connections

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


def test_counted_until_closed_or_forgotten() -> None:
    before = connections()
    consumer, producer = CountedConsumer({**NOWHERE, "group.id": "g"}), CountedProducer(NOWHERE)
    now = connections()
    assert now["consumers"] == before["consumers"] + 1 and now["producers"] == before["producers"] + 1
    consumer.close()
    assert connections()["consumers"] == before["consumers"]
    del producer, consumer
    gc.collect()
    after = connections()
    assert after == {**before, "opened": before["opened"] + 2}


def test_nowhere_but_in_a_task() -> None:
    with pytest.raises(WorldError, match="outside a Spark task"):
        TaskClients("127.0.0.1:1").consumer()
