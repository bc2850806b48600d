"""A job's progress in its offset stores: what the tasks have said that they committed, what queries have reported; at the end, the truth."""

from __future__ import annotations

import time
from contextlib import suppress

from whorl.config.offset_stores import store_url
from whorl.config.settings import Settings
from whorl.errors import WorldError
from whorl.jobs.queries import Queries
from whorl.kafka.clients import KafkaClients
from whorl.offsets.mirror import Mirrors, Progress, Tell
from whorl.offsets.store import Offsets
from whorl.plan import naming
from whorl.plan.plan import Host, Plan
from whorl.tasks.assignment import GENERATED
from whorl.tasks.changelog import read_positions
from whorl.tasks.layout import Place
from whorl.tasks.register import Registration
from whorl.tasks.watch import Watch

_EVERY = 0.25


class Showing:
    """Nothing, where the settings name no store."""

    def __init__(self, settings: Settings, clients: KafkaClients, tell: Tell) -> None:
        self._clients = clients
        self.mirrors = Mirrors(map(store_url, settings.offsets), clients, tell)
        self.mirrors.start()
        self._at = 0.0

    def show(self, plan: Plan, watch: Watch, queries: Queries) -> None:
        if not self.mirrors.all or time.monotonic() < self._at:
            return
        self._at = time.monotonic() + _EVERY
        tasks = {each.group: watch.components[each.id].positions for each in plan.on(Host.TASKS)}
        self._offer({**tasks, **_of_queries(plan, queries)})

    def end(self, plan: Plan, registration: Registration, queries: Queries) -> None:
        """The last word of a task may not have been heard, so changelogs are asked."""
        if not self.mirrors.all:
            return
        with suppress(WorldError):  # the broker is away: stores stay where they are
            tasks = {each.group: self._committed(registration, each.id) for each in plan.on(Host.TASKS)}
            self._offer({**tasks, **_of_queries(plan, queries)})
        self.mirrors.close()

    def _committed(self, registration: Registration, id: str) -> dict[Place, int]:
        topic = naming.changelog_topic(registration.pipeline, registration.uid, id)
        return read_positions(self._clients, topic, range(registration.components[id].layout.lps))

    def _offer(self, progress: Progress) -> None:
        self.mirrors.offer({group: outside(offsets) for group, offsets in progress.items()})


def _of_queries(plan: Plan, queries: Queries) -> dict[str, dict[Place, int]]:
    return {each.group: dict(queries.jobs[each.id].figures.positions) for each in plan.on(Host.QUERY)}


def outside(offsets: Offsets) -> dict[Place, int]:
    """Those of topics: sources that make their own records have none that anybody else could read."""
    return {place: at for place, at in offsets.items() if not place[0].startswith(GENERATED)}
