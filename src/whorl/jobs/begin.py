"""Where a source's partitions are read from when the job has no position for them yet."""

from __future__ import annotations

from collections.abc import Mapping

from whorl.config.spec import KafkaSource, Start
from whorl.jobs.ground import Ground
from whorl.kafka.topics import Cluster, Place
from whorl.plan.plan import Component
from whorl.tasks.assignment import GENERATED


def first_positions(
    cluster: Cluster, component: Component, ground: Ground, accept_gap: bool, stored: Mapping[Place, int]
) -> Mapping[Place, int]:
    """Positions to be written before the start. New places begin by their source's `start`; an edge topic of a component without any
    position where it ends, since what lies there is an earlier run's; partitions that joined a component at work at their first record; with
    `accept_gap`, places whose records are gone at the first that is left."""
    read = ground.read_by(component)
    new = [(topic, p) for topic, count in read.items() for p in range(count) if (topic, p) not in stored]
    starts: dict[str, Start] = {}
    for input in component.inputs:
        if input.source is None and not stored:
            starts[input.topic] = Start(position="latest")
        if isinstance(input.source, KafkaSource) and not stored:
            starts.update(dict.fromkeys(ground.topics[component.id][input.id], input.source.start))
    first = {
        place: offset
        for start, group in _by_start(starts, new)
        for place, offset in _begin(cluster, start, group).items()
    }
    return {**(_past_gaps(cluster, stored) if accept_gap else {}), **first}


def _past_gaps(cluster: Cluster, stored: Mapping[Place, int]) -> dict[Place, int]:
    earliest = cluster.earliest(place for place in stored if not place[0].startswith(GENERATED))
    return {place: offset for place, offset in earliest.items() if offset > stored[place]}


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
