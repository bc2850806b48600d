"""A pipeline at work, seen from its driver: Spark jobs started, tasks watched, orders sent.

    CREATED -> RUNNING -> STOPPING -> ENDED
                  |            |
                  +-- FAILED --+      `error` says why

A component whose task hangs, or whose member is gone, gets a new layout: the old one is fenced, so whatever wakes up can write nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from enum import Enum

from pyspark import SparkContext

from whorl.errors import Superseded, Unavailable, WhorlError, WorldError
from whorl.jobs.ground import Ground, not_to_be_spread
from whorl.jobs.growth import Growth
from whorl.jobs.members import Hosted, Members, not_started, spark_error
from whorl.jobs.outage import Outages
from whorl.jobs.queries import Queries
from whorl.jobs.runaways import Runaways
from whorl.jobs.showing import Showing
from whorl.kafka.topics import Cluster, Place
from whorl.plan.plan import Component, Host, OutputKind
from whorl.query.host import QueryState
from whorl.spark.session import master_of
from whorl.tasks.assignment import GENERATED, Assignment
from whorl.tasks.control import Address, StatusReader, Stop, send_order
from whorl.tasks.driver import Driver, Wanted
from whorl.tasks.gone import gone_error
from whorl.tasks.layout import Layout
from whorl.tasks.watch import Watch

_SURVEY_EVERY = 10.0
_TRIM_EVERY = 60.0
_STARTS_EVERY = 2.0


class State(Enum):
    CREATED = "created"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"
    FAILED = "failed"


class Job:
    def __init__(
        self,
        context: SparkContext,
        queries: Queries,
        ground: Ground,
        limits: Mapping[str, int],
        driver: Driver,
        members: Members,
        notices: list[str],
        earlier: tuple[Job, ...] = (),
    ) -> None:
        """`notices`: what is to be told, once. `earlier`: stretches of the same run."""
        self.plan, self.ground, self.queries = queries.plan, ground, queries
        self.earlier = earlier
        self.state = State.CREATED
        self.error: WhorlError | None = None
        self.has_finished = False
        """Whether it stops because nothing is left to do."""
        self.quiet_after: float | None = None
        """Seconds after which nothing was left to do, where it was to end then."""
        self.notices = notices
        self._told: set[str] = set()
        self._runaways = Runaways(self.plan)
        self.watch = Watch(self.plan.settings.restart)
        self.jobs: dict[str, Hosted] = {}
        self._pausing = False
        self._growth = Growth()
        self._outages, self._unanswered = Outages(notices.append), ""
        self.was_cancelled = False
        """Whether tasks may have been ended in the middle of a transaction."""
        self._context, self._members = context, members
        self._limits = limits
        self._driver = driver
        self._opened = ExitStack()

    def start(
        self, cluster: Cluster, wanted: Mapping[str, Wanted], news_from: int, until_caught_up: bool = False
    ) -> None:
        self._cluster, self._wanted = cluster, wanted
        self._clients = clients = cluster.clients
        news = StatusReader(clients, self.plan.pipeline, self._driver.registration.uid, news_from)
        self._news = self._opened.enter_context(closing(news))
        self._showing = Showing(self.plan.settings, clients, self.notices.append)
        self._opened.callback(lambda: self._showing.end(self.plan, self._driver.registration, self.queries))
        self._stop_by, self._starts_at = 0.0, 0.0
        self._survey_at, self._trim_at = time.monotonic() + _SURVEY_EVERY, time.monotonic() + _TRIM_EVERY
        adopted = [component for component in self.plan.on(Host.TASKS) if component.id in self._members.adopted]
        self._lay_out([component.id for component in self.plan.on(Host.TASKS) if component not in adopted])
        for component in adopted:
            self._start_component(component, self._driver.registration.components[component.id].layout)
        if not until_caught_up:  # else each starts when all before it is done
            self.queries.start()
        self.state = State.RUNNING

    def _lay_out(self, components: list[str]) -> None:
        layouts = self._driver.lay_out([self._wanted[id] for id in components])
        for component in self.plan.components:
            if component.id in layouts:
                self._start_component(component, layouts[component.id])

    def _start_component(self, component: Component, layout: Layout) -> None:
        assignment = Assignment(
            pipeline=self.plan.pipeline,
            uid=self._driver.registration.uid,
            component=component,
            layout=layout,
            topics=self.ground.topics[component.id],
            partitions=self.ground.partitions,
            limits=self._limits,
            dead_letter=self.plan.dead_letter,
            settings=self.plan.settings,
        )
        self.watch.expect(component.id, layout.number, layout.tasks, assignment.standbys)
        job = self.jobs[component.id] = self._members.host(self._context, self.plan, assignment)
        job.start()

    # -- while it runs ----------------------------------------------------------------------------------------------------------------

    def look(self, timeout: float) -> None:
        """Takes in the news, acts on what is wrong."""
        news = list(self._news.read(timeout))
        self._members.take(news)
        for skip in self.watch.take(news):
            for id in self.jobs:
                send_order(self._clients, self._address(id), skip)
        if given_up := self.watch.given_up():
            id, view = given_up
            hint = "see 'restart' in the settings; --verbose shows more"
            self._fail(
                WorldError(f"component '{id}' failed again and again: {view.last_error}", hint=hint, code="gave-up")
            )
        self._look_at_starts()
        self._follow_members()
        self._replace_hung()
        self.queries.look()
        if self._pausing:
            self._stop_queries_at_rest()
        self._look_at_topics()
        self._look_at_loops()
        self._look_at_gaps()
        self._look_at_outages()
        self._showing.show(self.plan, self.watch, self.queries)
        if self.watch.failure():
            self.stop()  # the error itself comes with the end of the Spark job
        self._take_ends()

    def _look_at_starts(self) -> None:
        """A Python worker that cannot start says nothing, and Spark tries it for ever."""
        if self.state is not State.RUNNING or time.monotonic() < self._starts_at:
            return
        self._starts_at = time.monotonic() + _STARTS_EVERY
        for id, view in self.watch.components.items():
            if view.is_silent and (reason := self.jobs[id].why_not_started()):
                self._fail(not_started(id, reason))
                self.jobs[id].cancel()  # nobody is there who could stop

    def _replace_hung(self) -> None:
        if self.state is not State.RUNNING:
            return
        for id, view in list(self.watch.components.items()):
            if self.jobs[id].seat != "" and not self.jobs[id].wait(0) and view.note_hung():
                self._start_anew(id)

    def _follow_members(self) -> None:
        """What a member had that is gone, or has ended though nobody wanted it, starts anew where its seat is now. A job that stops goes
        without it: all that was committed is there."""
        for id, job in list(self.jobs.items()):
            moved, ended = job.seat != self._members.seat_of(id), bool(job.seat) and job.wait(0) and not job.errors
            if self.state is State.RUNNING and (moved or ended):
                self._start_anew(id)
            elif self.state is State.STOPPING and (moved or job.seat == "") and not job.wait(0):
                job.cancel()
                self.was_cancelled = True

    def _start_anew(self, id: str) -> None:
        self.jobs[id].cancel()
        self._growth.forget(id)
        self._lay_out([id])

    def restart(self, id: str) -> None:
        """One component anew: what its tasks have not committed is done again."""
        if self.state is not State.RUNNING:
            raise WorldError(f"component '{id}' cannot start anew: the job is {self.state.value}", code="not-running")
        if id in self.queries.jobs:
            return self.queries.jobs[id].restart()
        if id not in self.jobs:
            raise WorldError(
                f"there is no component '{id}'", hint=f"there are {', '.join(self.jobs)}", code="no-component"
            )
        self._start_anew(id)

    def _look_at_topics(self) -> None:
        """A topic that was deleted ends the job; partitions that were added are read from their first record on."""
        if self.state is not State.RUNNING or time.monotonic() < self._survey_at:
            return
        self._survey_at = time.monotonic() + _SURVEY_EVERY
        try:
            self._survey(self._cluster.partition_counts())
            self._unanswered = ""
        except Unavailable as error:
            self._unanswered = error.message  # the tasks wait for the broker, so does this

    def _survey(self, now: Mapping[str, int]) -> None:
        for component in self.plan.components:
            read = {
                topic: count
                for topic, count in self.ground.read_by(component).items()
                if not topic.startswith(GENERATED)
            }
            if gone := [topic for topic in read if topic not in now]:
                return self._fail(gone_error(component, gone[0]))
            if component.host is Host.TASKS and (more := {t: now[t] for t, count in read.items() if now[t] > count}):
                if unfit := not_to_be_spread(component, more, self.ground.lps[component.id]):
                    return self._fail(WorldError(unfit.message, hint=unfit.hint, code=unfit.code))
                self._growth.notice(component, {topic: read[topic] for topic in more}, self._ends)
                self.notices += [
                    f"{component.id}: '{t}' has {count} partitions now, and had {read[t]}" for t, count in more.items()
                ]
        self.ground.partitions.update({topic: count for topic, count in now.items() if topic in self.ground.partitions})
        self._growth.look(lambda id: self.watch.components[id].positions)
        for id in self._growth.stopping:  # again each time: an order may be lost with the broker that took it
            send_order(self._clients, self._address(id), Stop())
        self._trim_edges()

    def _ends(self, topics: Mapping[str, int]) -> dict[Place, int]:
        return self._cluster.latest((topic, p) for topic, count in topics.items() for p in range(count))

    def _look_at_outages(self) -> None:
        waiting = {id: trouble for id, view in self.watch.components.items() if (trouble := view.trouble)}
        self._outages.now({**waiting, **({"the driver": self._unanswered} if self._unanswered else {})})

    def _look_at_loops(self) -> None:
        for runaway in self._runaways.found(self.watch, time.monotonic()):
            self.notices.append(f"{runaway.message}; {runaway.hint}")
            if runaway.stops:
                self._fail(WorldError(runaway.message, hint=runaway.hint, code="runaway"))

    def _look_at_gaps(self) -> None:
        told = {f"{id}: {gap}; goes on without them" for id, view in self.watch.components.items() for gap in view.gaps}
        self.notices += sorted(told - self._told)
        self._told |= told

    def _trim_edges(self) -> None:
        """Records of topics between components are deleted once their reader has committed them."""
        if time.monotonic() < self._trim_at:
            return
        self._trim_at = time.monotonic() + _TRIM_EVERY
        edges = {output.topic for output in self.plan.outputs if output.kind is OutputKind.EDGE}
        done = {place: at for view in self.watch.components.values() for place, at in view.positions.items()}
        done.update(self.queries.no_longer_needed)
        self._cluster.delete_before({place: at for place, at in done.items() if place[0] in edges and at > 0})

    def _take_ends(self) -> None:
        for id in [id for id in self._growth.stopping if self.jobs[id].wait(0)]:
            self._growth.forget(id)
            if self.state is State.RUNNING and not self.jobs[id].errors:
                self._lay_out([id])
        ended = [job for job in self.jobs.values() if job.wait(0)]
        for job in ended:
            if job.errors:
                self._fail(_worst(job.errors))
            elif job.error is not None and self.state is State.RUNNING:
                self._fail(spark_error(job))
        for error in self.queries.errors():
            self._fail(error)
        if len(ended) == len(self.jobs) and self.queries.are_over:
            self.state = State.FAILED if self.error else State.ENDED
        elif self.state is State.STOPPING and time.monotonic() > self._stop_by:
            self._cancel()

    def fail(self, error: WhorlError) -> None:
        """With this, which came of asking the broker; or with a topic that is gone, where that is the reason."""
        self._survey_at = 0.0
        self._look_at_topics()
        self._fail(error)

    def _fail(self, error: WhorlError) -> None:
        self.error = self.error or error
        self.stop()

    # -- the end ----------------------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Graceful: every task finishes its bulk and commits; those that do not within `stop_timeout` are cancelled."""
        if self.state is not State.RUNNING:
            return
        self.state = State.STOPPING
        self._stop_by = time.monotonic() + self.plan.settings.stop_timeout
        for id in self.jobs:
            send_order(self._clients, self._address(id), Stop())
        if not self._pausing:
            self.queries.stop()

    def pause(self) -> None:
        """As `stop`, but queries first read what other components have written for them, so that nothing is on its way to one."""
        if self.state is State.RUNNING:
            self._pausing = True
            self.stop()

    def _stop_queries_at_rest(self) -> None:
        """Those before which all has ended and been read; a failure ends the wait."""
        for component in self.plan.on(Host.QUERY):
            query = self.queries.jobs[component.id]
            has_all = all(self._has_ended(before) for before in self.plan.upstream(component))
            if not query.is_stopping and (self.error or (has_all and self.has_read_all(component))):
                query.stop()
        if not all(query.is_stopping for query in self.queries.jobs.values()):
            self._stop_by = time.monotonic() + self.plan.settings.stop_timeout

    def has_read_all(self, component: Component) -> bool:
        """Whether a query is done with all that other components have written for it."""
        topics = self.plan.edges_into(component)
        try:
            ends = self._cluster.latest((topic, p) for topic in topics for p in range(self.ground.partitions[topic]))
        except Unavailable:
            return False
        read = self.queries.jobs[component.id].read_up_to(topics)
        return all(read.get(place, 0) >= end for place, end in ends.items())

    def _has_ended(self, component: Component) -> bool:
        if component.id in self.jobs:
            return self.jobs[component.id].wait(0)
        return self.queries.jobs[component.id].state is QueryState.ENDED

    def _cancel(self) -> None:
        self._stop_by, self.was_cancelled = float("inf"), True
        if self.error is None:
            limit = self.plan.settings.stop_timeout
            late = f"not all tasks stopped within {limit:g} s and were cancelled"
            self.error = WorldError(self.watch.failure() or late, code="stop-timeout")
        for job in self.jobs.values():
            job.cancel()
        self.queries.cancel()

    def close(self) -> None:
        self._opened.close()

    @property
    def uid(self) -> str:
        """Of the life that it is."""
        return self._driver.registration.uid

    def headlines(self) -> list[str]:
        """What was made for it, what Spark calls it, and where Spark shows it."""
        context, master = self._context, master_of(self._context)
        tasks = sum(job.assignment.layout.tasks for job in self.jobs.values())
        parts = [f"{len(self.jobs)} jobs, {tasks} tasks"] if self.jobs else []
        standbys = sum(job.assignment.standbys for job in self.jobs.values())
        parts += [f"{standbys} standbys"] if standbys else []
        queries = len(self.queries.jobs)
        parts += [f"{queries} {'query' if queries == 1 else 'queries'}"] if queries else []
        made = [topic for topic in self.ground.missing if not topic.name.startswith("whorl.")]
        return [
            *(f"created topic '{topic.name}' with {topic.partitions} partitions" for topic in made),
            f"Spark application {context.applicationId} on {master}: {', '.join(parts)}",
            *(f"checkpoint of '{id}' in {query.checkpoint}" for id, query in self.queries.jobs.items()),
            f"Spark UI {context.uiWebUrl or 'off'}",
        ]

    @property
    def spark_ui(self) -> str:
        return self._context.uiWebUrl or ""

    @property
    def is_over(self) -> bool:
        return self.state in (State.ENDED, State.FAILED)

    def _address(self, component: str) -> Address:
        registration = self._driver.registration
        layout = registration.components[component].layout.number
        return Address(self.plan.pipeline, registration.uid, component, layout)


def _worst(errors: list[WhorlError]) -> WhorlError:
    """What the user can mend comes before what followed from it."""
    return min(errors, key=lambda error: (isinstance(error, Superseded), error.exit_code))
