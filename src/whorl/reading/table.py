"""A table as it is now: the newest value of every key of a compacted topic, as committed. Nobody notices that it is read."""

from __future__ import annotations

from typing import Any

import orjson

from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster


def read_table(broker: str, topic: str) -> dict[str, Any]:
    """By key, as text; values that are JSON are read, others are text. A key whose last record has no value is gone."""
    clients = KafkaClients(broker)
    count = Cluster(clients).partition_counts().get(topic)
    if count is None:
        raise WorldError(
            f"there is no topic '{topic}'", hint="'whorl topics list' shows what there is", code="topic-missing"
        )
    last: dict[bytes, bytes | None] = {}
    for message in read_to_end(clients, [(topic, partition) for partition in range(count)]):
        last[message.key() or b""] = message.value()
    return {key.decode("utf-8", "replace"): value_of(value) for key, value in last.items() if value is not None}


def value_of(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value.decode("utf-8", "replace")
