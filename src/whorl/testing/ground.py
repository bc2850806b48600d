"""The topics of a plan in a memory broker, and what each component asks of the register: what `whorl run` does on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whorl.config.spec import KafkaSource
from whorl.kafka.topics import LARGEST
from whorl.plan import naming
from whorl.plan.plan import Component, Input, OutputKind, Plan
from whorl.tasks.assignment import GENERATED, Assignment, generated_topic
from whorl.tasks.driver import Wanted
from whorl.tasks.generated import length
from whorl.tasks.generated import partitions as generated_partitions
from whorl.tasks.layout import Layout, Place, logical_partitions
from whorl.testing.memory import MemoryBroker


@dataclass(frozen=True)
class Ground:
    """A plan on its broker. Every source is read from its first record, whatever its `start` says."""

    plan: Plan
    broker: MemoryBroker
    tasks: int
    topics: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Component id, input id: the topics read."""
    partitions: Mapping[str, int]
    lps: Mapping[str, int]

    def wanted(self) -> list[Wanted]:
        return [self._wanted(component) for component in self.plan.components]

    def make_changelogs(self, uid: str) -> None:
        for id, lps in self.lps.items():
            _make(self.broker, naming.changelog_topic(self.plan.pipeline, uid, id), lps, LARGEST)

    def assignment(self, component: Component, uid: str, layout: Layout) -> Assignment:
        return Assignment(
            pipeline=self.plan.pipeline,
            uid=uid,
            component=component,
            layout=layout,
            topics=self.topics[component.id],
            partitions=self.partitions,
            limits={name: topic.max_bytes for name, topic in self.broker.topics().items()},
            dead_letter=self.plan.dead_letter,
            settings=self.plan.settings,
        )

    def ends(self, component: Component) -> dict[Place, int]:
        """Where each place that the component reads ends now."""
        made = {generated_topic(i): i.source for i in component.inputs if i.source is not None}
        ends: dict[Place, int] = {}
        for topic, partition in self._places(component):
            if topic.startswith(GENERATED):
                source = made[topic]
                assert source is not None
                ends[topic, partition] = length(source, partition) or 0
            else:
                ends[topic, partition] = self.broker.topics()[topic].logs[partition].last_stable
        return ends

    def _wanted(self, component: Component) -> Wanted:
        lps, places = self.lps[component.id], tuple(self._places(component))

        def first(stored: Mapping[Place, int]) -> Mapping[Place, int]:
            return {place: self._start(place) for place in places if place not in stored}

        return Wanted(
            component=component.id,
            group=component.group,
            tasks=min(self.tasks, lps),
            lps=lps,
            places=places,
            first=first,
            kept=component.kept,
            versions=component.versions,
            types=component.types,
            states=component.states,
        )

    def _places(self, component: Component) -> Iterator[Place]:
        for topics in self.topics[component.id].values():
            yield from ((topic, partition) for topic in topics for partition in range(self.partitions[topic]))

    def _start(self, place: Place) -> int:
        return 0 if place[0].startswith(GENERATED) else self.broker.topics()[place[0]].logs[place[1]].start


def survey(plan: Plan, broker: MemoryBroker, partitions: int, tasks: int) -> Ground:
    """Makes the plan's topics where they are missing."""
    for own in (naming.REGISTER, naming.control_topic(plan.pipeline), naming.status_topic(plan.pipeline)):
        _make(broker, own, 1)
    _make(broker, plan.dead_letter, partitions, LARGEST)
    topics: dict[str, dict[str, tuple[str, ...]]] = {}
    counts: dict[str, int] = {}
    lps: dict[str, int] = {}
    for component in plan.components:
        topics[component.id] = {input.id: _topics_of(plan, input, broker, partitions) for input in component.inputs}
        counts |= {
            generated_topic(input): generated_partitions(input.source) for input in component.inputs if input.source
        }
        counts |= {name: len(topic.logs) for name, topic in broker.topics().items()}
        outside = [input.id for input in component.inputs if not input.feedback]
        read = [counts[topic] for id in outside for topic in topics[component.id][id]]
        lps[component.id] = logical_partitions(read, plan.settings.max_tasks, plan.cogroups(component))
        for input in component.feedback:
            _make(broker, input.topic, lps[component.id], LARGEST)
        for topic in component.published.values():
            _make(broker, topic, lps[component.id], LARGEST)
        for output in component.outputs:
            inside = output.kind is not OutputKind.SINK
            count = lps[component.id] if inside and not output.sorted else partitions
            _make(broker, output.topic, count, LARGEST if inside else {})
    counts |= {name: len(topic.logs) for name, topic in broker.topics().items()}
    return Ground(plan, broker, tasks, topics, counts, lps)


def _topics_of(plan: Plan, input: Input, broker: MemoryBroker, partitions: int) -> tuple[str, ...]:
    source = input.source
    if source is None:
        return (input.topic,)
    if not isinstance(source, KafkaSource):
        return (generated_topic(input),)
    if source.pattern:
        return plan.matching(source.pattern, broker.topics())
    for name in source.names:
        _make(broker, name, partitions)
    return source.names


def _make(broker: MemoryBroker, name: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
    if name not in broker.topics():
        broker.create_topic(name, partitions, config)
