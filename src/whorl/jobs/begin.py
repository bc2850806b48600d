"""Where a source's partitions are read from when the job has no position for them yet."""

from __future__ import annotations

from collections.abc import Mapping

from whorl.config.spec import KafkaSource, Start
from whorl.jobs.gaps import Terms, leapt, past_gaps
from whorl.jobs.ground import Ground
from whorl.jobs.seeds import seeded
from whorl.kafka.topics import Cluster, Place
from whorl.plan.plan import Component
from whorl.tasks.assignment import GENERATED


def first_positions(
    cluster: Cluster, component: Component, ground: Ground, terms: Terms, stored: Mapping[Place, int]
) -> Mapping[Place, int]:
    """Positions to be written before the start. New places begin by their source's `start_from` and `start`; an edge topic of a component
    without any position where it ends, since what lies there is an earlier run's; partitions that joined a component at work at their
    first record; where gaps are accepted, places whose records are gone at the first that is left."""
    read = ground.read_by(component)
    new = [(topic, p) for topic, count in read.items() for p in range(count) if (topic, p) not in stored]
    starts: dict[str, Start] = {}
    seeds: dict[Place, int] = {}
    for input in component.inputs:
        if input.source is None and not stored:
            starts[input.topic] = Start(position="latest")
        if isinstance(input.source, KafkaSource) and not stored:
            topics = ground.topics[component.id][input.id]
            starts.update(dict.fromkeys(topics, input.source.start))
            seeds.update(_seeds(cluster, input.source, [place for place in new if place[0] in topics], terms))
    unknown = [place for place in new if place not in seeds]
    first = {
        place: offset
        for start, group in _by_start(starts, unknown)
        for place, offset in _begin(cluster, start, group).items()
    }
    gaps = past_gaps(cluster, component.id, stored, leapt(component, ground, terms), terms.tell)
    return {**gaps, **first, **seeds}


def _seeds(cluster: Cluster, source: KafkaSource, places: list[Place], terms: Terms) -> Mapping[Place, int]:
    start_from = None if source.table else source.start_from or terms.settings.start_from
    return seeded(cluster, start_from, places, terms.tell) if start_from else {}


def _by_start(starts: Mapping[str, Start], places: list[Place]) -> list[tuple[Start, list[Place]]]:
    groups: dict[int, tuple[Start, list[Place]]] = {}
    earliest = Start()
    for place in places:
        start = starts.get(place[0], earliest)
        groups.setdefault(id(start), (start, []))[1].append(place)
    return list(groups.values())


def _begin(cluster: Cluster, start: Start, places: list[Place]) -> dict[Place, int]:
    made = {place: 0 for place in places if place[0].startswith(GENERATED)}
    real = [place for place in places if place not in made]
    if start.timestamp is not None:
        found = cluster.at_time(real, int(start.timestamp))
    else:
        found = cluster.latest(real) if start.position == "latest" else cluster.earliest(real)
    for topic, offsets in (start.offsets or {}).items():
        found.update({(topic, p): offset for p, offset in offsets.items() if (topic, p) in found})
    return {**made, **found}
