"""Records that are gone from Kafka before they were read: whether a job goes on without them, and how many there were."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from whorl.config.settings import Settings
from whorl.config.spec import KafkaSource
from whorl.jobs.ground import Ground
from whorl.kafka.topics import Cluster, Place
from whorl.plan.plan import Component
from whorl.tasks.assignment import GENERATED
from whorl.tasks.gone import lost


@dataclass(frozen=True)
class Terms:
    """On which a component begins to read."""

    settings: Settings
    accept_gap: bool = False
    """Whatever sources and settings say."""
    tell: Callable[[str], None] = lambda sentence: None


def leapt(component: Component, ground: Ground, terms: Terms) -> set[str]:
    """Topics of a component in which it goes on behind a gap."""
    read = ground.topics[component.id]
    if terms.accept_gap:
        return {topic for topics in read.values() for topic in topics}
    return {
        topic
        for input in component.inputs
        if isinstance(input.source, KafkaSource) and (input.source.on_gap or terms.settings.on_gap) == "earliest"
        for topic in read[input.id]
    }


def past_gaps(
    cluster: Cluster, component: str, stored: Mapping[Place, int], topics: Collection[str], tell: Callable[[str], None]
) -> dict[Place, int]:
    """Where to go on in these topics, of places whose next record is gone."""
    asked = [place for place in stored if place[0] in topics and not place[0].startswith(GENERATED)]
    found = {place: first for place, first in cluster.earliest(asked).items() if first > stored[place]}
    for place, first in found.items():
        tell(f"{component}: {lost(place, stored[place], first)}; goes on without them")
    return found
