"""Everything a query must know, as data, and what Spark's readers and writers are told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whorl.config.settings import Settings
from whorl.config.spec import FileSink
from whorl.kafka.clients import KafkaClients
from whorl.plan.plan import Component, Delivery
from whorl.query.checkpoint import Manifest, Positions
from whorl.query.pace import least, rate_bound
from whorl.query.pins import fingerprint, pinned
from whorl.query.read import Reading

_MOST_PER_BATCH = 500_000


@dataclass(frozen=True)
class QueryAssignment:
    pipeline: str
    uid: str
    component: Component
    topics: Mapping[str, tuple[str, ...]]
    """Input id to the topics it reads."""
    partitions: Mapping[str, int]
    limits: Mapping[str, int]
    """The largest message that each topic written takes."""
    dead_letter: str
    ledger: str
    settings: Settings
    until_caught_up: bool = False
    accept_repeat: bool = False
    leaps: frozenset[str] = frozenset()
    """Topics whose records, where they are gone before they were read, are done without."""

    @property
    def folder(self) -> str:
        """That of the file sink, if it has one."""
        sink = self.component.outputs[0].sink
        return sink.path if isinstance(sink, FileSink) else ""

    def manifest(self, starts: Mapping[str, Positions]) -> Manifest:
        """As it is to be now."""
        return first_manifest(self.pipeline, self.uid, self.component, self.settings, starts)

    def reading(self, clients: KafkaClients, starts: Mapping[str, Positions], paced: int | None = None) -> Reading:
        """`paced`: records of a batch that backpressure allows each source."""
        return Reading(
            address=clients.address,
            kafka=java_options(clients),
            topics=self.topics,
            starts=numbered(starts),
            ends=None,
            partitions=self.partitions,
            dead_letter=self.dead_letter,
            max_per_batch=self.settings.max_per_batch or self._most(),
            bounds=self._bounds(paced),
            timed=self.component.delivery is not Delivery.REALTIME,
        )

    def _bounds(self, paced: int | None) -> dict[str, int]:
        """A run until caught up has no interval to keep."""
        counts = {id: sum(self.partitions.get(topic, 1) for topic in topics) for id, topics in self.topics.items()}
        rated = {id: None if self.until_caught_up else rate_bound(self.settings, n) for id, n in counts.items()}
        return {id: bound for id, rate in rated.items() if (bound := least(rate, paced)) is not None}

    def _most(self) -> int | None:
        """A backlog is taken in parts, so that no transaction lasts too long. Real-time mode has no batches to bound."""
        realtime = self.component.delivery is Delivery.REALTIME
        return None if realtime and not self.until_caught_up else _MOST_PER_BATCH


def first_manifest(
    pipeline: str, uid: str, component: Component, settings: Settings, starts: Mapping[str, Positions]
) -> Manifest:
    inputs = tuple(input.id for input in component.inputs)
    return Manifest(pipeline, component.id, uid, fingerprint(component), inputs, starts, pinned(settings))


def java_options(clients: KafkaClients) -> dict[str, str]:
    """Settings of librdkafka that Kafka's own client knows by the same name."""
    shared = ("security.protocol", "sasl.", "ssl.", "client.id")
    extra = {f"kafka.{name}": str(value) for name, value in clients.extra.items() if name.startswith(shared)}
    return {"kafka.bootstrap.servers": clients.address, **extra}


def numbered(starts: Mapping[str, Positions]) -> dict[str, dict[str, dict[int, int]]]:
    return {
        id: {topic: {int(partition): at for partition, at in of.items()} for topic, of in positions.items()}
        for id, positions in starts.items()
    }
