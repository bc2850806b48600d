"""Offsets in Redis: for each group a hash `offsets:GROUP` with the fields `TOPIC/PARTITION`, so that HGETALL shows them all."""

from __future__ import annotations

from redis import Redis

from whorl.config.offset_stores import StoreUrl
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Place
from whorl.offsets.store import PATIENCE, Offsets


class RedisStore:
    def __init__(self, url: StoreUrl, clients: KafkaClients) -> None:
        self._redis = Redis.from_url(
            url.plain, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, decode_responses=True
        )

    def read(self, group: str) -> dict[Place, int]:
        found: dict[str, str] = self._redis.hgetall(_key(group))  # type: ignore[assignment]
        split = ((field.rpartition("/"), int(at)) for field, at in found.items())
        return {(topic, int(partition)): at for (topic, _, partition), at in split}

    def write(self, group: str, offsets: Offsets) -> None:
        if offsets:
            self._redis.hset(_key(group), mapping={f"{topic}/{p}": at for (topic, p), at in offsets.items()})

    def close(self) -> None:
        self._redis.close()


def _key(group: str) -> str:
    return f"offsets:{group}"
