"""The compacted topic `whorl.schemas`: what is known of the columns of topics and paths, for all pipelines, and what each pipeline has pinned.

A pin is written at a source's first start and read at every later one, so that a restart reads what the first start read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from whorl.errors import Unavailable
from whorl.kafka.reading import read_as_of_now
from whorl.kafka.topics import COMPACTED, Cluster, TopicWanted
from whorl.schema import Schema
from whorl.schemas.observe import Inferred

TOPIC = "whorl.schemas"
VERSION = 1
_FLUSH = 15.0


@dataclass(frozen=True)
class Entry:
    """Columns with their types, how sure each is, and who says so."""

    columns: Mapping[str, str]
    origin: str
    rows: int = 0
    sure: Mapping[str, float] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        return Schema(tuple(self.columns.items()))

    @classmethod
    def of(cls, found: Inferred, origin: str) -> Entry:
        sure = {column.name: round(column.sure, 4) for column in found.columns}
        return cls(dict(found.schema), origin, found.rows, sure)

    @classmethod
    def declared(cls, schema: Schema, origin: str) -> Entry:
        return cls(dict(schema), origin)


def of_topic(topic: str) -> str:
    return f"topic:{topic}"


def of_path(path: str) -> str:
    return f"path:{path}"


def pin(pipeline: str, source: str) -> str:
    return f"pin:{pipeline}/{source}"


def published(cluster: Cluster) -> dict[str, Entry]:
    """All that is known now, by key."""
    if TOPIC not in cluster.partition_counts():
        return {}
    last: dict[str, Any] = {}
    for message in read_as_of_now(cluster.clients, (TOPIC, 0)):
        last[message.key().decode()] = message.value()
    return {key: _decode(value) for key, value in last.items() if value}


def publish(cluster: Cluster, entries: Mapping[str, Entry | None], replication: int | None = None) -> None:
    """None forgets an entry."""
    if not entries:
        return
    if TOPIC not in cluster.partition_counts():
        cluster.create([TopicWanted(TOPIC, 1, COMPACTED)], cluster.replication(replication))
    producer = cluster.clients.producer()
    for key, entry in entries.items():
        producer.produce(TOPIC, _encode(entry) if entry else None, key.encode(), 0)
    if producer.flush(_FLUSH):
        raise Unavailable(f"'{TOPIC}' cannot be written", hint="is the broker up?")


def _encode(entry: Entry) -> bytes:
    return orjson.dumps({"version": VERSION, **asdict(entry)})


def _decode(value: bytes) -> Entry:
    fields = orjson.loads(value)
    return Entry(**{name: fields[name] for name in ("columns", "origin", "rows", "sure") if name in fields})
