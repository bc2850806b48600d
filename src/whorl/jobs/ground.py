"""What a plan finds in the cluster it will run on: which topics are there, which will be made, and with how many partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whorl.config.settings import Settings
from whorl.config.spec import KafkaSource
from whorl.errors import Finding
from whorl.kafka.topics import COMPACTED, INTERNAL, Cluster, TopicWanted
from whorl.plan import naming
from whorl.plan.plan import Component, Host, Input, Output, OutputKind, Plan
from whorl.tasks.assignment import generated_topic
from whorl.tasks.generated import partitions
from whorl.tasks.layout import logical_partitions
from whorl.tasks.register import Registration

_HOUR = str(3600 * 1000)
_DAY = str(24 * 3600 * 1000)


@dataclass
class Ground:
    """`partitions` counts every topic of the plan, those to be made included."""

    topics: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Component id, input id: the topics read."""
    partitions: dict[str, int] = field(default_factory=dict)
    lps: dict[str, int] = field(default_factory=dict)
    missing: list[TopicWanted] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def read_by(self, component: Component) -> dict[str, int]:
        return {topic: self.partitions[topic] for topics in self.topics[component.id].values() for topic in topics}

    def sources_of(self, component: Component) -> tuple[str, ...]:
        """The topics that it reads, that others write, and that are no tables."""
        streams = [each.id for each in component.inputs if isinstance(each.source, KafkaSource) and not each.is_table]
        return tuple(sorted({topic for id in streams for topic in self.topics[component.id][id]}))

    @property
    def read(self) -> dict[str, set[str]]:
        """By component: all topics that it reads."""
        return {id: {topic for topics in inputs.values() for topic in topics} for id, inputs in self.topics.items()}


def survey(plan: Plan, cluster: Cluster, registration: Registration | None) -> Ground:
    ground = Ground(partitions=cluster.partition_counts())
    for name, config in own_topics(plan.pipeline).items():
        _want(ground, TopicWanted(name, 1, config))
    _want(ground, TopicWanted(plan.dead_letter, plan.settings.partitions, INTERNAL))
    for component in plan.components:
        _survey_component(plan, component, ground, registration)
    return ground


def own_topics(pipeline: str) -> Mapping[str, Mapping[str, str]]:
    """The topics that must be there before anything else is."""
    return {
        naming.REGISTER: COMPACTED,
        naming.control_topic(pipeline): {"retention.ms": _DAY},
        naming.status_topic(pipeline): {"retention.ms": _HOUR, "segment.ms": _HOUR},
    }


def make_own_topics(pipeline: str, cluster: Cluster, settings: Settings) -> None:
    own, there = own_topics(pipeline), cluster.partition_counts()
    missing = [TopicWanted(name, 1, config) for name, config in own.items() if name not in there]
    cluster.create(missing, cluster.replication(settings.replication))


def not_to_be_spread(component: Component, grown: Mapping[str, int], lps: int) -> Finding | None:
    """Keys of a topic that grew stay in their logical partition only where the number of those divides the new count."""
    wrong = next((topic for topic, count in grown.items() if count % lps), None)
    if wrong is None or not component.keeps_state:
        return None
    message = f"topic '{wrong}' has {grown[wrong]} partitions now, but '{component.id}' keeps keys in {lps} logical partitions"
    return Finding("growth", message, f"give it a multiple of {lps} partitions, or start over with 'whorl run --fresh'")


def _survey_component(plan: Plan, component: Component, ground: Ground, registration: Registration | None) -> None:
    ground.topics[component.id] = {input.id: _topics_of(plan, component, input, ground) for input in component.inputs}
    entry = registration.components.get(component.id) if registration else None
    outside = [input.id for input in component.inputs if not input.feedback]
    counts = [ground.partitions[topic] for id in outside for topic in ground.topics[component.id][id]]
    if component.host is Host.QUERY:
        lps = max(counts, default=plan.settings.partitions)
    else:
        lps = (
            entry.layout.lps if entry else logical_partitions(counts, plan.settings.max_tasks, plan.cogroups(component))
        )
    ground.lps[component.id] = lps
    for input in component.feedback:
        _want(ground, TopicWanted(input.topic, lps, INTERNAL))
    for topic in component.published.values():
        _want(ground, TopicWanted(topic, lps, {**COMPACTED, "delete.retention.ms": _DAY}))
    for output in component.outputs:
        if not output.kind.is_topic:
            continue
        if output.kind is OutputKind.SINK:
            _outside(plan, output.topic, f"sink '{output.id}'", ground)
        else:
            keep = {"retention.ms": _HOUR} if output.kind is OutputKind.VIEW else {}
            count = _sorted_count(plan, output, ground) if output.sorted else lps
            _want(ground, TopicWanted(output.topic, count, {**INTERNAL, **keep}))


def _sorted_count(plan: Plan, output: Output, ground: Ground) -> int:
    """As many as the table that is looked into behind it, or else as all topics that are sorted by keys."""
    reader = next(each for each in plan.components if any(input.topic == output.topic for input in each.inputs))
    topics = [each.source.topic for each in reader.tables if isinstance(each.source, KafkaSource)]
    counts = [ground.partitions[topic] for topic in topics if topic in ground.partitions]
    return max(counts, default=plan.settings.partitions)


def _topics_of(plan: Plan, component: Component, input: Input, ground: Ground) -> tuple[str, ...]:
    source = input.source
    if source is None:
        return (input.topic,)
    if isinstance(source, KafkaSource):
        return _kafka_topics(plan, input.id, source, ground)
    if component.host is Host.QUERY:
        return ()
    topic = generated_topic(input)
    ground.partitions[topic] = partitions(source)
    return (topic,)


def _kafka_topics(plan: Plan, id: str, source: KafkaSource, ground: Ground) -> tuple[str, ...]:
    if source.pattern:
        found = plan.matching(source.pattern, ground.partitions)
        if not found:
            ground.findings.append(
                Finding(
                    "topic-missing",
                    f"no topic matches the pattern '{source.pattern}' of source '{id}'",
                    "create one first",
                )
            )
        return found
    return tuple(name for name in source.names if _outside(plan, name, f"source '{id}'", ground))


def _outside(plan: Plan, topic: str, reader: str, ground: Ground) -> bool:
    if topic in ground.partitions:
        return True
    if plan.settings.create_topics:
        _want(ground, TopicWanted(topic, plan.settings.partitions))
        return True
    hint = f"create it: whorl topics create {topic}, or set 'create_topics: true'"
    ground.findings.append(Finding("topic-missing", f"topic '{topic}' of {reader} does not exist", hint))
    return False


def _want(ground: Ground, topic: TopicWanted) -> None:
    if topic.name not in ground.partitions:
        ground.partitions[topic.name] = topic.partitions
        ground.missing.append(topic)
