"""The query components of a job: prepared before anything runs, since what they find out about columns concerns the tasks that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from whorl.config.loader import Loaded
from whorl.errors import Location, WhorlError
from whorl.jobs.begin import first_positions
from whorl.jobs.gaps import Terms, leapt
from whorl.jobs.ground import Ground
from whorl.kafka.topics import Cluster, by_topic
from whorl.plan import naming
from whorl.plan.plan import Component, Host, Input, Output, Plan
from whorl.query.assignment import QueryAssignment
from whorl.query.checkpoint import Positions
from whorl.query.errors import Places
from whorl.query.host import QueryJob, QueryState
from whorl.schema import Schema
from whorl.tasks.layout import Place


def places_of(loaded: Loaded) -> Places:
    """Where in the pipeline's file a character of an option stands."""
    spec = loaded.spec
    named = {each.id: each for each in (*spec.sinks, *spec.operators, *spec.sources)}

    def place(id: str, path: tuple[str | int, ...], offset: int = 0) -> Location | None:
        known = named.get(id)
        if known is None or not known.path or loaded.document.tree.find((*known.path, *path)) is None:
            return known.at if known else None
        return loaded.document.tree.inside((*known.path, *path), offset)

    return place


class Queries:
    def __init__(self, plan: Plan, cluster: Cluster, ground: Ground, places: Places, terms: Terms) -> None:
        self.plan, self._terms = plan, terms
        self.jobs: dict[str, QueryJob] = {}
        self._cluster, self._ground, self._places = cluster, ground, places

    def prepare(
        self, session: SparkSession, uid: str, limits: Mapping[str, int], until_caught_up: bool, accept_repeat: bool
    ) -> None:
        """In the order records flow. `plan` then has the exact columns of everything that queries write."""
        for id in [component.id for component in self.plan.components if component.host is Host.QUERY]:
            component = next(each for each in self.plan.components if each.id == id)
            assignment = QueryAssignment(
                pipeline=self.plan.pipeline,
                uid=uid,
                component=component,
                topics=self._ground.topics[id],
                partitions=self._ground.partitions,
                limits=limits,
                dead_letter=self.plan.dead_letter,
                ledger=naming.ledger_topic(self.plan.pipeline, uid, id),
                settings=self.plan.settings,
                until_caught_up=until_caught_up,
                accept_repeat=accept_repeat,
                leaps=frozenset(leapt(component, self._ground, self._terms)),
            )
            job = QueryJob(session, assignment, self._cluster.clients, self._places)
            self.jobs[id] = job
            written = {output.id: output.topic for output in component.outputs if output.topic}
            exact = job.prepare(lambda component=component: self._starts(component))  # type: ignore[misc]
            self.plan = with_columns(
                self.plan, {written[id]: columns for id, columns in exact.items() if id in written}
            )

    def _starts(self, component: Component) -> dict[str, Positions]:
        """Input by input: two of them may read one topic, from different places."""
        starts: dict[str, Positions] = {}
        for input in component.inputs:
            topics = self._ground.topics[component.id][input.id]
            first = first_positions(self._cluster, replace(component, inputs=(input,)), self._ground, self._terms, {})
            if topics:
                starts[input.id] = by_topic({place: at for place, at in first.items() if place[0] in topics})
        return starts

    def start(self) -> None:
        for job in self.jobs.values():
            job.start()

    def look(self) -> None:
        for job in self.jobs.values():
            job.look()

    def stop(self) -> None:
        for job in self.jobs.values():
            job.stop()

    def cancel(self) -> None:
        for job in self.jobs.values():
            if job.state is not QueryState.ENDED:
                job.cancel()

    @property
    def are_over(self) -> bool:
        return all(job.state is QueryState.ENDED for job in self.jobs.values())

    def errors(self) -> Iterator[WhorlError]:
        return (job.error for job in self.jobs.values() if job.error is not None)

    @property
    def no_longer_needed(self) -> dict[Place, int]:
        """Positions before which nothing is read again: a batch may be repeated, so where the last one began."""
        return {place: at for job in self.jobs.values() for place, at in job.figures.starts.items()}


def with_columns(plan: Plan, columns: Mapping[str, Schema]) -> Plan:
    """The plan with the exact columns of these topics at both of their ends."""

    def into(input: Input) -> Input:
        return replace(input, schema=columns[input.topic]) if input.topic in columns else input

    def out_of(output: Output) -> Output:
        return replace(output, schema=columns[output.topic]) if output.topic in columns else output

    components = (
        replace(
            component,
            inputs=tuple(into(input) for input in component.inputs),
            outputs=tuple(out_of(output) for output in component.outputs),
        )
        for component in plan.components
    )
    return replace(plan, components=tuple(components))
