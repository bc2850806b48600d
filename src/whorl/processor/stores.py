"""Where committed offsets are kept: read once at the start, written at every commit, and the one truth about where to go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from confluent_kafka import KafkaException, TopicPartition

from whorl.config.offset_stores import StoreUrl, store_url
from whorl.errors import Unavailable, WhorlError
from whorl.kafka.topics import Cluster, Place
from whorl.offsets.store import open_store, reason

_AGAIN = "nothing was committed; the fetch comes again"


class Kept(Protocol):
    def read(self, places: Iterable[Place]) -> dict[Place, int]:
        """What is committed of these; nothing of those that are not."""
        ...

    def write(self, offsets: Mapping[Place, int]) -> None:
        """Returns when they are kept for good."""
        ...

    def close(self) -> None: ...


def kept_at(url: str | None, group: str, cluster: Cluster) -> Kept:
    return GroupOffsets(cluster, group) if url is None else StoredOffsets(cluster, store_url(url), group)


class GroupOffsets:
    """Those of a consumer group, as Kafka's own tools show them. One client writes them all: a new one for each commit would take longer
    than the commit."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self._cluster, self._group = cluster, group
        self._consumer: Any = None

    def read(self, places: Iterable[Place]) -> dict[Place, int]:
        return self._cluster.committed(self._group, places)

    def write(self, offsets: Mapping[Place, int]) -> None:
        try:
            self._commit([TopicPartition(*place, at) for place, at in offsets.items()])
        except KafkaException as error:
            self.close()
            said = error.args[0].str()
            raise Unavailable(f"group '{self._group}' takes no offsets: {said}", hint=_AGAIN) from None

    def _commit(self, offsets: list[TopicPartition]) -> None:
        if self._consumer is None:
            self._consumer = self._cluster.clients.consumer(**{"group.id": self._group})
        for taken in self._consumer.commit(offsets=offsets, asynchronous=False):
            if taken.error is not None:
                raise KafkaException(taken.error)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


class StoredOffsets:
    """Those of any offset store; of the group that its URL names, else of the processor's."""

    def __init__(self, cluster: Cluster, url: StoreUrl, group: str) -> None:
        self._url, self._group = url, url.group or group
        self._store = open_store(url, cluster.clients)

    def read(self, places: Iterable[Place]) -> dict[Place, int]:
        try:
            found = self._store.read(self._group)
        except Exception as error:
            raise self._told(error) from error
        return {place: found[place] for place in places if place in found}

    def write(self, offsets: Mapping[Place, int]) -> None:
        try:
            self._store.write(self._group, offsets)
        except Exception as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, WhorlError):
            return error
        message = f"the offset store '{self._url}' fails: {reason(error)}"
        return Unavailable(message, hint=_AGAIN, code="offset-store")

    def close(self) -> None:
        self._store.close()
