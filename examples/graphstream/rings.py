"""The table `rings` while it changes, and the same rings computed at once from all links."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import Consumer, TopicPartition

Rings = dict[str, str]
"""By account: the first account of its ring."""


def batch(links: Iterable[Mapping[str, str]]) -> Rings:
    """In plain Python, with all links at hand."""
    above: Rings = {}

    def first(account: str) -> str:
        while above.setdefault(account, account) != account:
            above[account] = account = above[above[account]]
        return account

    for link in links:
        one, other = sorted((first(link["one"]), first(link["other"])))
        above[other] = one
    return {account: first(account) for account in above}


class Table:
    """The last row of each account, as anyone reads it from the topic."""

    def __init__(self, address: str, topic: str, partitions: int) -> None:
        self.rings: Rings = {}
        settings = {"bootstrap.servers": address, "group.id": "demo", "isolation.level": "read_committed"}
        self._consumer = Consumer({**settings, "enable.auto.commit": False, "auto.offset.reset": "earliest"})
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])

    def until(self, expected: Rings, timeout: float, check: Callable[[], None]) -> bool:
        """Follows the topic until it says what is expected; False where it does not in this time."""
        deadline = time.monotonic() + timeout
        while self.rings != expected and time.monotonic() < deadline:
            check()
            for message in self._consumer.consume(1000, 0.1):
                if message.error() is None and message.value() is not None:
                    self.rings[message.key().decode()] = json.loads(message.value())["component"]
        return self.rings == expected

    def close(self) -> None:
        self._consumer.close()
