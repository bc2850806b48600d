"""Dead letters: the records of a dead-letter topic, and which of them were replayed already.

A compacted topic of its own keeps that for ever: the position up to which everything was replayed, and for each operator that up to which
its letters were. Consumer groups mirror it for tools, but their offsets expire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from whorl.config.framework import named
from whorl.errors import WorldError
from whorl.jobs.address import clients_at
from whorl.kafka.reading import read_to_end, reading
from whorl.kafka.topics import Cluster, Place
from whorl.plan import naming
from whorl.tasks.assignment import GENERATED

PREFIX = "whorl-"
EVERY = ""
Reached = dict[int, int]
"""Partition of the dead-letter topic to the offset below which all were replayed."""


@dataclass(frozen=True)
class Letter:
    """A record that failed. `headers` are its own, without those that say what happened to it."""

    place: Place
    """Its partition of the dead-letter topic."""
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]
    operator: str
    error: str
    topic: str
    partition: int
    source_offset: int
    truncated: bool

    @property
    def can_go_back(self) -> bool:
        """Timers and rows of a list or rate source have no topic to go back to, and a value that was cut is not the record any more."""
        return bool(self.topic) and not self.topic.startswith(GENERATED) and not self.truncated

    @property
    def position(self) -> str:
        """What came from no topic, a timer or a row of a file, has none."""
        return f"{self.topic}/{self.partition}/{self.source_offset}" if self.topic else "-"


@dataclass(frozen=True)
class Letters:
    cluster: Cluster
    topic: str
    partitions: int

    @property
    def positions_topic(self) -> str:
        return f"whorl.{self.topic}.replay"

    def group(self, operator: str = EVERY) -> str:
        return f"{self.topic}.replay" + (f".{naming.slug(operator)}" if operator else "")

    def all(self) -> Iterator[Letter]:
        return (_letter(message) for message in self._records(self.topic, self.partitions))

    def waiting(self) -> Iterator[Letter]:
        """Those that were not replayed."""
        done = self.replayed()
        for letter in self.all():
            reached = max(done.get(each, {}).get(letter.place[1], 0) for each in (EVERY, letter.operator))
            if letter.offset >= reached or not letter.can_go_back:
                yield letter

    def replayed(self) -> dict[str, Reached]:
        """By operator, how far each partition's letters were replayed; under EVERY those of all operators."""
        if self.positions_topic not in self.cluster.partition_counts():
            return {}
        latest = {
            (message.key() or b"").decode(): message.value() for message in self._records(self.positions_topic, 1)
        }
        return {
            operator: {int(partition): offset for partition, offset in orjson.loads(value).items()}
            for operator, value in latest.items()
        }

    def _records(self, topic: str, partitions: int) -> Iterator[Any]:
        with reading(topic):
            yield from read_to_end(self.cluster.clients, [(topic, partition) for partition in range(partitions)])


def find_letters(of: str, broker: str | None, profile: str | None, sets: Iterable[str], config: Path | None) -> Letters:
    """Those of a pipeline file, of a pipeline by name, or of a topic."""
    name, settings = named(of, profile, sets, config)
    topics = [settings.dead_letter_topic or naming.dead_letter_topic(name), of]
    cluster = Cluster(clients_at(broker, settings))
    counts = cluster.partition_counts()
    for topic in topics:
        if topic in counts:
            return Letters(cluster, topic, counts[topic])
    hint = "it is made at the pipeline's first start; name the pipeline's file, its name or the topic"
    raise WorldError(f"there is no dead-letter topic '{topics[0]}'", hint=hint, code="topic-missing")


def _letter(message: Any) -> Letter:
    headers = tuple(message.headers() or ())
    told = {name: value or b"" for name, value in headers if name.startswith(PREFIX)}
    return Letter(
        place=(message.topic(), message.partition()),
        offset=message.offset(),
        key=message.key(),
        value=message.value(),
        timestamp=message.timestamp()[1],
        headers=tuple((name, value) for name, value in headers if not name.startswith(PREFIX)),
        operator=told.get(naming.DEAD_OPERATOR, b"").decode(errors="replace"),
        error=told.get(naming.DEAD_ERROR, b"").decode(errors="replace"),
        topic=told.get(naming.DEAD_TOPIC, b"").decode(errors="replace"),
        partition=_number(told.get(naming.DEAD_PARTITION)),
        truncated=naming.DEAD_TRUNCATED in told,
        source_offset=_number(told.get(naming.DEAD_OFFSET)),
    )


def _number(text: bytes | None) -> int:
    return int(text) if text and text.lstrip(b"-").isdigit() else -1
