"""Where the topics that a job reads begin and end, asked now and then beside it: a broker that is away must not hold the job's driver up."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from whorl.jobs.periodic import Periodic
from whorl.kafka.topics import Cluster, Place

_EVERY = 10.0


class Bound(NamedTuple):
    earliest: int | None = None
    latest: int | None = None


class Bounds:
    def __init__(self, cluster: Cluster, every: float = _EVERY) -> None:
        self._cluster = cluster
        self._wanted: Collection[Place] = ()
        self._known: dict[Place, Bound] = {}
        Periodic("whorl-bounds", self.look, every, at_once=False).start()

    def of(self, places: Collection[Place]) -> dict[Place, Bound]:
        """As they were when they were asked last; those that were not yet are asked with the next."""
        self._wanted = places
        return {place: self._known.get(place, Bound()) for place in places}

    def look(self) -> None:
        places = list(self._wanted)
        first, last = self._cluster.earliest(places), self._cluster.latest(places)
        self._known = {place: Bound(first.get(place), last.get(place)) for place in places}
