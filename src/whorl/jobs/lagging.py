"""How far a pipeline is behind: offsets of every partition at two moments, and what follows from them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from whorl.config.settings import Settings
from whorl.jobs.positions import local_logs, readers
from whorl.kafka.topics import Cluster, Place
from whorl.tasks.register import Registration


@dataclass(frozen=True)
class Behind:
    """A partition, as one component reads it. What `whorl offsets show` prints."""

    component: str
    group: str
    topic: str
    partition: int
    earliest: int
    committed: int
    latest: int
    rate: float
    """Offsets a second that were committed meanwhile."""
    written: float
    """Offsets a second that came to it."""

    @property
    def lag(self) -> int:
        return max(self.latest - self.committed, 0)

    @property
    def lost(self) -> int:
        """Records that are gone before they were read."""
        return max(self.earliest - self.committed, 0)

    @property
    def seconds_left(self) -> float | None:
        """Until it has caught up, as things go now; None: never."""
        if not self.lag:
            return 0.0
        return self.lag / (self.rate - self.written) if self.rate > self.written else None


def behind(cluster: Cluster, registration: Registration, settings: Settings, over: float) -> list[Behind]:
    """Measured over so many seconds. Positions are asked for first, so that no lag is below the truth."""
    logs = local_logs(settings, registration)
    first, started = readers(cluster, registration, logs), time.monotonic()
    places = {place for reader in first for place in reader.positions}
    ends = cluster.latest(places)
    time.sleep(over)
    second, seconds = readers(cluster, registration, logs), time.monotonic() - started
    latest, earliest = cluster.latest(places), cluster.earliest(places)
    before = {reader.id: reader.positions for reader in first}

    def rate(now: Mapping[Place, int], then: Mapping[Place, int], place: Place) -> float:
        return max(now[place] - then.get(place, now[place]), 0) / seconds if seconds else 0.0

    return [
        Behind(
            reader.id,
            reader.group,
            *place,
            earliest[place],
            reader.positions[place],
            latest[place],
            round(rate(reader.positions, before[reader.id], place), 1),
            round(rate(latest, ends, place), 1),
        )
        for reader in second
        for place in sorted(reader.positions)
        if place in latest
    ]
