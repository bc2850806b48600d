"""When a job has caught up: each component has committed all that was there when it was asked, in the order records flow.

Outside topics end where they ended at the start; a topic between components ends where it ends once all that write it have caught up.
Components that are in a loop with each other catch up together: when nothing more goes round. Their positions are asked for first, and
only then where their topics end; what is equal then has nothing on its way, since whatever is on its way lies behind a position.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from whorl.errors import Unavailable, WorldError
from whorl.jobs.job import Job
from whorl.kafka.topics import Cluster, Place
from whorl.plan.plan import Component, Host, Plan
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
        loop = self._job.plan.loop_of(component)
        before = (other for each in loop for other in self._job.plan.upstream(each) if other not in loop)
        return all(other.id in self._done for other in before)

    def _check_query(self, component: Component) -> None:
        """It starts when all that it can ever read is there, and ends by itself."""
        query = self._job.queries.jobs[component.id]
        if query.state is QueryState.PREPARED:
            query.start()
        elif query.state is QueryState.ENDED and query.error is None:
            self._done.add(component.id)

    def _check(self, component: Component) -> None:
        loop, inner = self._job.plan.loop_of(component), self._going_round(component)
        reached = {each.id: self._job.watch.components[each.id].positions for each in loop}
        try:
            for each in loop:
                if each.id not in self._goals:
                    ends = ends_of(self._cluster, self._job, each)
                    self._goals[each.id] = {place: end for place, end in ends.items() if place[0] not in inner}
            if all(is_at(reached[each.id], self._goals[each.id]) for each in loop) and self._is_round(loop, reached):
                self._done.update(each.id for each in loop)
        except Unavailable:
            return  # asked again at the next look
        except WorldError as error:
            self._job.fail(error)

    def _going_round(self, component: Component) -> set[str]:
        """The topics by which a loop goes round."""
        loop = self._job.plan.loop_of(component)
        written = {output.topic for each in loop for output in each.outputs if output.rounds != "none"}
        return written & {input.topic for each in loop for input in each.inputs}

    def _is_round(self, loop: Sequence[Component], reached: Mapping[str, Mapping[Place, int]]) -> bool:
        """Whether nothing more goes round."""
        inner = self._going_round(loop[0])
        if not inner:
            return True
        if any(waits_for_time(self._job, each) for each in loop):
            return False
        ends = [(each, ends_of(self._cluster, self._job, each)) for each in loop]
        return all(is_at(reached[each.id], {p: end for p, end in at.items() if p[0] in inner}) for each, at in ends)


class Quiet:
    """When nothing is left to do anywhere: every component has committed all that is there, and none waits for a time."""

    def __init__(self, cluster: Cluster, job: Job) -> None:
        self._cluster, self._job = cluster, job
        self._since: float | None = None

    def reached(self) -> bool:
        """Notes in the job how long it took from the moment when the first task was at work."""
        views = self._job.watch.components.values()
        if self._since is None and any("running" in view.steps for view in views):
            self._since = time.monotonic()
        if self._since is not None and self._is_quiet():
            self._job.quiet_after = time.monotonic() - self._since
            return True
        return False

    def _is_quiet(self) -> bool:
        tasks, queries = self._job.plan.on(Host.TASKS), self._job.plan.on(Host.QUERY)
        reached = {each.id: self._job.watch.components[each.id].positions for each in tasks}

        def at_rest() -> bool:
            return all(is_at(reached[each.id], ends_of(self._cluster, self._job, each)) for each in tasks)

        if any(waits_for_time(self._job, each) for each in tasks):
            return False
        try:
            if not at_rest() or not all(self._job.has_read_all(each) for each in queries):
                return False
            return not queries or at_rest()  # a query may have written meanwhile, for tasks behind it
        except Unavailable:
            return False
        except WorldError as error:
            self._job.fail(error)
            return False


def is_bounded(plan: Plan) -> bool:
    """Whether all that it will ever read is there, or is made by itself and ends."""
    sources = [input.source for component in plan.components for input in component.inputs if input.source is not None]
    return all(source.is_static or length(source, 0) is not None for source in sources)


def is_at(positions: Mapping[Place, int], ends: Mapping[Place, int]) -> bool:
    return all(positions.get(place, -1) >= end for place, end in ends.items())


def waits_for_time(job: Job, component: Component) -> bool:
    """Whether a timer of it is set that goes off by the clock."""
    return job.watch.components[component.id].total("timers") > 0


def ends_of(cluster: Cluster, job: Job, component: Component) -> dict[Place, int]:
    """Where all that a component reads ends now."""
    places = [(topic, p) for topic, count in job.ground.read_by(component).items() for p in range(count)]
    ends = cluster.latest(place for place in places if not place[0].startswith(GENERATED))
    for input in component.inputs:
        for topic in job.ground.topics[component.id][input.id]:
            if topic.startswith(GENERATED) and input.source is not None:
                made = {(t, p): length(input.source, p) for t, p in places if t == topic}
                ends.update({place: count for place, count in made.items() if count is not None})
    return ends
