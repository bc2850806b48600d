"""What is looked at before anything is read. All findings at once, each with the remedy; nothing is changed by looking."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whorl.config.spec import KafkaSource
from whorl.errors import Finding
from whorl.jobs.changes import refused
from whorl.jobs.gaps import Terms, leapt
from whorl.jobs.ground import Ground, not_to_be_spread
from whorl.kafka.clients import KafkaClients
from whorl.kafka.partitioner import partition_of
from whorl.kafka.reading import read_tail
from whorl.kafka.topics import Cluster, Place
from whorl.kafka.version import OLDEST, broker_version
from whorl.plan import naming
from whorl.plan.plan import Component, Host, Plan
from whorl.query.seat import batch_timeout
from whorl.tasks.assignment import GENERATED
from whorl.tasks.changelog import read_positions
from whorl.tasks.gone import WITHOUT, lost, topic_gone
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration, registrations
from whorl.units import format_duration

_SAMPLE = 20


@dataclass(frozen=True)
class Flight:
    """Everything a check may look at."""

    plan: Plan
    ground: Ground
    cluster: Cluster
    registration: Registration | None
    accept_gap: bool
    accept_loss: frozenset[str] = frozenset()

    @property
    def clients(self) -> KafkaClients:
        return self.cluster.clients


def preflight(flight: Flight) -> list[Finding]:
    findings = list(flight.ground.findings)
    for check in (_version, _transaction_timeout, _own_topics, _shared):
        findings += check(flight)
    findings += refused(flight.plan, flight.registration, flight.accept_loss, flight.ground.read)
    if not findings:
        for component in flight.plan.on(Host.TASKS):
            if gone := list(_gone(flight, component)):
                findings += gone
                continue
            findings += _offsets(flight, component)
            findings += _partitioner(flight, component)
            findings += _growth(flight, component)
    return findings


def _shared(flight: Flight) -> Iterator[Finding]:
    others = registrations(flight.clients) if naming.REGISTER in flight.cluster.partition_counts() else {}
    running = [each for name, each in others.items() if name != flight.plan.pipeline and each.holder and not each.holder.is_gone()]  # fmt: skip
    yield from shared(flight.plan, running)


def shared(plan: Plan, others: Iterable[Registration]) -> Iterator[Finding]:
    """What two pipelines that run would both take for their own: topics between components, and consumer groups."""
    topics = {topic for component in plan.components for topic in plan.edges_into(component)}
    groups = {component.group for component in plan.components}
    for other in others:
        entries: tuple[ComponentEntry | QueryEntry, ...] = (*other.components.values(), *other.queries.values())
        found = [("topic", name) for entry in entries for name in entry.edges if name in topics]
        found += [("consumer group", entry.group) for entry in entries if entry.group in groups]
        for what, name in dict.fromkeys(found):
            hint = "give this one another 'name', 'topic_prefix' or 'group_id'"
            yield Finding("shared", f"the {what} '{name}' is of pipeline '{other.pipeline}' too, which runs", hint)


def _version(flight: Flight) -> Iterator[Finding]:
    version = broker_version(flight.clients)
    if version is not None and version < OLDEST:
        yield Finding(
            "broker-version",
            f"the broker is older than Kafka {OLDEST[0]}.{OLDEST[1]}",
            "exactly once needs a newer one",
        )


def _transaction_timeout(flight: Flight) -> Iterator[Finding]:
    most = float(flight.cluster.broker_config().get("transaction.max.timeout.ms", "inf")) / 1000
    own, batch = flight.plan.settings.transaction_timeout, batch_timeout(flight.plan.settings)
    raised = "raise the broker's transaction.max.timeout.ms"
    if own > most:
        message = f"'transaction_timeout' is {format_duration(own)}, the broker allows {format_duration(most)}"
        yield Finding("transaction-timeout", message, f"lower it, or {raised}")
    elif flight.plan.queries and batch > most:
        message = f"a query's batch may take {format_duration(batch)}, the broker allows {format_duration(most)}"
        yield Finding("transaction-timeout", message, raised)


def _own_topics(flight: Flight) -> Iterator[Finding]:
    """What holds a component's state and positions, or a query's writes: made anew it would be empty, and all would be read once more."""
    if flight.registration is None:
        return
    name, uid = flight.plan.pipeline, flight.registration.uid
    changelogs = {id: naming.changelog_topic(name, uid, id) for id in flight.registration.components}
    ledgers = {id: naming.ledger_topic(name, uid, id) for id in flight.registration.queries}
    planned = {component.id for component in flight.plan.components}
    for holds, topics in (("state and positions", changelogs), ("the log of what it has written", ledgers)):
        for id, topic in topics.items():
            if id in planned and topic not in flight.ground.partitions:
                message = f"topic '{topic}' is gone, which held {holds} of component '{id}'"
                hint = "resume a savepoint with 'whorl resume', or start over with 'whorl run --fresh'"
                yield Finding("own-topic-gone", message, hint)


def _growth(flight: Flight, component: Component) -> Iterator[Finding]:
    known = Counter(topic for topic, _ in _positions(flight, component))
    now = flight.ground.read_by(component)
    grown = {topic: now[topic] for topic, count in known.items() if now.get(topic, 0) > count}
    if unfit := not_to_be_spread(component, grown, flight.ground.lps[component.id]):
        yield unfit


def _gone(flight: Flight, component: Component) -> Iterator[Finding]:
    """Topics that it has positions in, and that would be made anew."""
    missing = {topic.name for topic in flight.ground.missing}
    for topic in missing and sorted(missing & {topic for topic, _ in _positions(flight, component)}):
        yield topic_gone(component, topic)


def _offsets(flight: Flight, component: Component) -> Iterator[Finding]:
    positions = _positions(flight, component)
    places = [place for place in positions if not place[0].startswith(GENERATED)]
    earliest, latest = flight.cluster.earliest(places), flight.cluster.latest(places)
    accepted = leapt(component, flight.ground, Terms(flight.plan.settings, flight.accept_gap))
    for place in places:
        at = positions[place]
        if at < earliest[place] and place[0] not in accepted:
            yield Finding("offsets-gone", lost(place, at, earliest[place]), WITHOUT)
        elif at > latest[place]:
            message = f"{place[0]}/{place[1]}: the job is at offset {at}, the topic ends at {latest[place]}"
            yield Finding("offsets-gone", message, "the topic was made anew: start over with 'whorl run --fresh'")
    yield from _group(flight, component, positions)


def _group(flight: Flight, component: Component, positions: dict[Place, int]) -> Iterator[Finding]:
    for place, offset in _settled(flight, component, positions).items():
        if place in positions and positions[place] != offset:
            message = (
                f"group '{component.group}' is at {offset} of {place[0]}/{place[1]}, the job at {positions[place]}: "
                "something else committed to it"
            )
            own = f"whorl offsets import {flight.plan.pipeline} kafka:{component.group}"
            hint = (
                f"delete the group's offsets to keep the job's; or move the job there: {own} --component {component.id}"
            )
            yield Finding("group-offsets", message, hint)


def _settled(flight: Flight, component: Component, positions: dict[Place, int]) -> dict[Place, int]:
    """The group's offsets once nobody moves them: orphans of a killed driver may commit for a moment yet. Updates `positions`."""
    known = [place for place in positions if not place[0].startswith(GENERATED)]
    while True:
        group = flight.cluster.committed(component.group, known)
        if all(positions.get(place, offset) == offset for place, offset in group.items()):
            return group
        time.sleep(1.0)
        again = _positions(flight, component)
        if again == positions:
            return group
        positions.update(again)


def _positions(flight: Flight, component: Component) -> dict[Place, int]:
    registration = flight.registration
    if registration is None or component.id not in registration.components:
        return {}
    topic = naming.changelog_topic(flight.plan.pipeline, registration.uid, component.id)
    positions = read_positions(flight.clients, topic, range(registration.components[component.id].layout.lps))
    return {place: at for place, at in positions.items() if place[0] in flight.ground.read[component.id]}


def _partitioner(flight: Flight, component: Component) -> Iterator[Finding]:
    """Compares a sample's partitions with what the declared hash gives."""
    made = {topic.name for topic in flight.ground.missing}
    for input in component.inputs:
        source = input.source
        if not isinstance(source, KafkaSource) or source.partitioner is None:
            continue
        for topic in set(flight.ground.topics[component.id][input.id]) - made:
            yield from _misplaced(flight, topic, input.id, source.partitioner)


def _misplaced(flight: Flight, topic: str, id: str, partitioner: str) -> Iterator[Finding]:
    count = flight.ground.partitions[topic]
    for message in read_tail(flight.clients, flight.cluster, [(topic, p) for p in range(count)], _SAMPLE):
        key = message.key()
        if key and partition_of(key, count, partitioner) != message.partition():
            what = f"source '{id}': key {key!r} at {topic}/{message.partition()}/{message.offset()} was not placed by {partitioner}"
            other = "crc32" if partitioner == "murmur2" else "murmur2"
            yield Finding("partitioner", what, f"set 'partitioner: {other}' if its writer uses that, or leave it out")
            return
