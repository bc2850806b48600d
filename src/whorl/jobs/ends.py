"""When a job has caught up: each component has committed all that was there when it was asked, in the order records flow.

Outside topics end where they ended at the start; a topic between components ends where it ends once all that write it have caught up.
"""

from __future__ import annotations

from collections.abc import Mapping

from whorl.errors import Unavailable
from whorl.jobs.job import Job
from whorl.kafka.topics import Cluster, Place
from whorl.plan.plan import Component, Host
from whorl.query.host import QueryState
from whorl.tasks.assignment import GENERATED
from whorl.tasks.generated import length


class CatchUp:
    def __init__(self, cluster: Cluster, job: Job) -> None:
        self._cluster, self._job = cluster, job
        self._goals: dict[str, Mapping[Place, int]] = {}
        self._done: set[str] = set()

    def reached(self) -> bool:
        for component in self._job.plan.components:
            if component.id not in self._done and self._upstream_done(component):
                self._check_query(component) if component.host is Host.QUERY else self._check(component)
        return len(self._done) == len(self._job.plan.components)

    def _upstream_done(self, component: Component) -> bool:
        return all(other.id in self._done for other in self._job.plan.upstream(component))

    def _check_query(self, component: Component) -> None:
        """It starts when all that it can ever read is there, and ends by itself."""
        query = self._job.queries.jobs[component.id]
        if query.state is QueryState.PREPARED:
            query.start()
        elif query.state is QueryState.ENDED and query.error is None:
            self._done.add(component.id)

    def _check(self, component: Component) -> None:
        if component.id not in self._goals:
            try:
                self._goals[component.id] = self._ends(component)
            except Unavailable:
                return  # asked again at the next look
        at = self._job.watch.components[component.id].positions
        if all(at.get(place, -1) >= end for place, end in self._goals[component.id].items()):
            self._done.add(component.id)

    def _ends(self, component: Component) -> dict[Place, int]:
        places = [(topic, p) for topic, count in self._job.ground.read_by(component).items() for p in range(count)]
        ends = self._cluster.latest(place for place in places if not place[0].startswith(GENERATED))
        for input in component.inputs:
            for topic in self._job.ground.topics[component.id][input.id]:
                if topic.startswith(GENERATED) and input.source is not None:
                    made = {(t, p): length(input.source, p) for t, p in places if t == topic}
                    ends.update({place: count for place, count in made.items() if count is not None})
        return ends
