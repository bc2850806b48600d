"""Offsets as Kafka itself keeps them for groups. A group with members refuses offsets from outside, and that is told."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.config.offset_stores import StoreUrl
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster, Place
from whorl.offsets.store import PATIENCE, Offsets

_PAUSE = 0.2
_NO_COORDINATOR = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._WAIT_COORD,
    KafkaError._TIMED_OUT,
)


class KafkaStore:
    def __init__(self, url: StoreUrl, clients: KafkaClients) -> None:
        self._clients = KafkaClients(url.host, clients.extra) if url.host else clients

    def read(self, group: str) -> dict[Place, int]:
        cluster = Cluster(self._clients)
        counts = cluster.partition_counts()
        return cluster.committed(group, [(topic, p) for topic, count in counts.items() for p in range(count)])

    def write(self, group: str, offsets: Offsets) -> None:
        if not offsets:
            return
        consumer = self._clients.consumer(**{"group.id": group})
        try:
            _commit(consumer, [TopicPartition(*place, at) for place, at in offsets.items()])
        finally:
            consumer.close()

    def close(self) -> None:
        pass


def _commit(consumer: Any, offsets: list[TopicPartition]) -> None:
    """A broker that has just started, or lost another, does not know at once who keeps the group."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
            return
        except KafkaException as error:
            if error.args[0].code() not in _NO_COORDINATOR or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
