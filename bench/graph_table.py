"""The labels in a table topic, as anyone reads it: the last row of each vertex."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from confluent_kafka import Consumer, Message, TopicPartition

from bench.failures import TooSlow
from bench.topics import QUIET, Topics

COLUMN = "component"
TABLE = {"cleanup.policy": "compact"}


def labels_in(topics: Topics, table: str) -> dict[int, int]:
    """As they are now."""
    found: dict[int, int] = {}
    for message in topics.read(table):
        _take(found, message)
    return found


class LabelTable:
    """Follows a table while it changes."""

    def __init__(self, address: str, topic: str, partitions: int) -> None:
        self.labels: dict[int, int] = {}
        settings = {"bootstrap.servers": address, "group.id": "bench.table", "isolation.level": "read_committed"}
        self._consumer = Consumer({**settings, **QUIET, "enable.auto.commit": False, "auto.offset.reset": "earliest"})
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])

    def follow(self, until: Callable[[], bool], check: Callable[[], None], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while True:
            messages = self._consumer.consume(10_000, 0.02)
            for message in messages:
                _take(self.labels, message)
            if not messages:
                if until():
                    return
                check()
            if time.monotonic() > deadline:
                raise TooSlow(f"the table did not come to what it should in {timeout:g} s")

    def close(self) -> None:
        self._consumer.close()


def _take(labels: dict[int, int], message: Message) -> None:
    if message.error() is None:
        value = message.value()
        if value is None:
            labels.pop(int(message.key()), None)
        else:
            labels[int(message.key())] = json.loads(value)[COLUMN]
