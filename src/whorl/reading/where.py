"""Where a pipeline keeps its state: the changelogs of its components, as the register names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from whorl.config.codes import suggest
from whorl.errors import WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.partitioner import partition_of
from whorl.kafka.reading import read_to_end
from whorl.plan import naming
from whorl.state.codec import address
from whorl.tasks.register import Registration, registration_of

_ELSEWHERE = (
    "what runs in a query keeps its state in Spark's checkpoint, and a pipeline that has done nothing yet keeps none"
)


@dataclass(frozen=True)
class Changelog:
    """Of a component that runs in tasks: one partition for each logical partition (lp)."""

    component: str
    topic: str
    lps: int
    read: tuple[int, ...]
    """Partition counts of the topics that the component reads."""

    def likely(self, key: bytes) -> set[int]:
        """The lps to which writers that partition by key, as ours and Java's do, send it."""
        return {partition_of(key, count) % self.lps for count in self.read}


@dataclass(frozen=True)
class Stores:
    """All that a pipeline keeps."""

    pipeline: str
    uid: str
    changelogs: tuple[Changelog, ...]
    queries: tuple[str, ...]
    """Components whose state Spark keeps."""
    keyed: Mapping[str, str] = field(default_factory=dict)
    """Operators with state by key in one of these, and in which."""

    def in_a_query(self, operator: str) -> bool:
        """Or a component."""
        return naming.slug(operator) in self.queries or operator in self.keyed

    def query_of(self, operator: str) -> str:
        return self.keyed.get(operator, operator)

    def candidates(self, operator: str) -> tuple[Changelog, ...]:
        """Where an operator's state may be: components are named after their first operator, and may have more."""
        if self.in_a_query(operator):
            raise _kept_by_spark(self.pipeline, operator)
        return tuple(log for log in self.changelogs if log.component == operator) or self.changelogs


def stores_of(clients: Clients, counts: Mapping[str, int], pipeline: str) -> Stores:
    """`counts`: partitions of all topics."""
    registration = registration_of(clients, counts, pipeline)
    ledgers = naming.ledgers(pipeline, registration.uid, counts)
    queries = (topic.removesuffix(".ledger").rpartition(f".{registration.uid}.")[2] for topic in ledgers)
    keyed = {operator: id for id, entry in registration.queries.items() for operator in entry.keyed}
    return Stores(pipeline, registration.uid, tuple(_changelogs(registration, counts)), tuple(queries), keyed)


def changelog_of(clients: Clients, stores: Stores, operator: str) -> Changelog:
    """That of the component that the operator is in; raises where it is in none."""
    logs, seen = stores.candidates(operator), set[str]()
    if logs and logs[0].component == operator:
        return logs[0]
    for log in logs:
        for found in _operators(clients, log):
            if found == operator:
                return log
            seen.add(found)
    what = f"no operator '{operator}' of pipeline '{stores.pipeline}' keeps state in tasks"
    raise WorldError(what, hint=suggest(operator, seen, "with state") or _ELSEWHERE, code="state-operator")


def _kept_by_spark(pipeline: str, component: str) -> WorldError:
    return WorldError(
        f"component '{component}' runs in a query: Spark keeps its state, in its checkpoint",
        hint=f"in Spark, whorl.read_state(spark, '{pipeline}', '{component}') reads it",
        code="state-query",
    )


def _changelogs(registration: Registration, counts: Mapping[str, int]) -> Iterator[Changelog]:
    for component, entry in registration.components.items():
        topic = naming.changelog_topic(registration.pipeline, registration.uid, component)
        if topic not in counts:
            what = f"the changelog '{topic}' of component '{component}' is gone"
            raise WorldError(what, hint="with it went its state: 'whorl run --fresh' starts over", code="topic-missing")
        read = tuple(counts[name] for name in entry.topics if name in counts)
        yield Changelog(component, topic, entry.layout.lps, read)


def _operators(clients: Clients, log: Changelog) -> Iterator[str]:
    for message in read_to_end(clients, [(log.topic, lp) for lp in range(log.lps)]):
        found = address(message.key())
        if found is not None:
            yield found.operator
