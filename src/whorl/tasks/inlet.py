"""Where a task's records come from: one Kafka consumer for all topics, and sources that make their own records.

The Kafka consumer is asked for one record with a wait and then for what is there already: asking for many with a wait would wait for many.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from confluent_kafka import TopicPartition

from whorl.config.spec import SourceOptions
from whorl.kafka.clients import Clients
from whorl.kafka.reading import STEADY
from whorl.tasks.assignment import GENERATED
from whorl.tasks.generated import generator
from whorl.tasks.layout import Place

_NAP = 0.02
_ANSWER = 30.0
_QUEUE = {
    "fetch.wait.max.ms": 50,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 65_536,
    **STEADY,
}


class Inlet:
    """Reads the places it was given, from their positions on."""

    def __init__(
        self, clients: Clients, group: str, positions: Mapping[Place, int], sources: Mapping[str, SourceOptions]
    ) -> None:
        self._consumer = clients.consumer(**{"group.id": group, **_QUEUE})
        topics = [TopicPartition(t, p, offset) for (t, p), offset in positions.items() if not t.startswith(GENERATED)]
        self._consumer.assign(topics)
        self._reads_topics = bool(topics)
        self._generators = {
            place: generator(sources[place[0]], place, offset)
            for place, offset in positions.items()
            if place[0].startswith(GENERATED)
        }
        self._paused: set[Place] = set()

    def read(self, most: int, timeout: float) -> list[Any]:
        """What is there, at most `most`; waits up to `timeout` for the first."""
        if not self._generators:
            return self._read_topics(most, timeout)
        made = [
            message for place, make in self._generators.items() if place not in self._paused for message in make(most)
        ]
        wait = 0.0 if made else min(timeout, _NAP)
        if self._reads_topics:
            return made + self._read_topics(most, wait)
        if wait:
            self._consumer.poll(wait)  # nothing is assigned: it only waits
        return made

    def _read_topics(self, most: int, timeout: float) -> list[Any]:
        first = self._consumer.poll(timeout)
        if first is None:
            return []
        rest: list[Any] = self._consumer.consume(most - 1, 0)
        rest.insert(0, first)
        return rest

    @cached_property
    def group(self) -> Any:
        """It never changes for a consumer that assigns itself, and to ask takes a millisecond."""
        return self._consumer.consumer_group_metadata()

    def behind(self, positions: Mapping[Place, int]) -> dict[Place, int]:
        """Records between the positions and the ends as far as they were last seen, where there are any."""
        found = {}
        for (topic, partition), position in positions.items():
            if not topic.startswith(GENERATED):
                _, high = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
                if high > position:
                    found[(topic, partition)] = high - position
        return found

    def first(self, place: Place) -> int:
        """The first offset that is left, as the broker says now."""
        low: int = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=_ANSWER)[0]
        return low

    def seek(self, place: Place, offset: int) -> None:
        """Goes on there. Taken and given anew: a partition that has failed does not go on by a mere seek."""
        self._consumer.incremental_unassign([TopicPartition(*place)])
        self._consumer.incremental_assign([TopicPartition(*place, offset)])
        if place in self._paused:
            self._consumer.pause([TopicPartition(*place)])

    def pause(self, place: Place) -> None:
        self._paused.add(place)
        if not place[0].startswith(GENERATED):
            self._consumer.pause([TopicPartition(*place)])

    def resume(self, place: Place) -> None:
        """Nothing, where it is not paused: the client would fetch anew what it has already."""
        if place not in self._paused:
            return
        self._paused.discard(place)
        if not place[0].startswith(GENERATED):
            self._consumer.resume([TopicPartition(*place)])

    def close(self) -> None:
        self._consumer.close()
