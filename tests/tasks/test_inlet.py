"""A consumer whose next record is gone goes on behind the gap, as librdkafka really does it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, Producer

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.tasks.inlet import Inlet


def test_behind_a_gap(broker: Broker, topic: Callable[..., str]) -> None:
    name, clients = topic(2), KafkaClients(broker.address)
    producer = Producer({"bootstrap.servers": broker.address})
    for n in range(10):
        for partition in range(2):
            producer.produce(name, str(n).encode(), None, partition)
    assert producer.flush(30) == 0
    Cluster(clients).delete_before({(name, 0): 6})
    inlet = Inlet(clients, "gap", {(name, 0): 2, (name, 1): 8}, {})
    read: dict[int, list[int]] = {0: [], 1: []}

    def take(message: Any) -> None:
        if message.error() is None:
            read[message.partition()].append(message.offset())
        elif message.error().code() != KafkaError._PARTITION_EOF:
            assert message.error().code() == KafkaError._AUTO_OFFSET_RESET and message.partition() == 0
            assert inlet.first((name, 0)) == 6
            inlet.seek((name, 0), 6)

    until = time.monotonic() + 60
    while read != {0: [6, 7, 8, 9], 1: [8, 9]} and time.monotonic() < until:
        for message in inlet.read(100, 0.2):
            take(message)
    inlet.close()
    assert read == {0: [6, 7, 8, 9], 1: [8, 9]}
