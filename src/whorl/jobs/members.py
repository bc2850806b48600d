"""Who shares a job with its driver. A member lends its Spark session to components of tasks; all else stays with the driver.

A member is known by its seat, a name that nobody had before it. What the driver says to a seat is an order in the control topic, what the
member says comes with the news of tasks. Whether it lives is for the job server to know: a component gets another seat then, and the driver
starts it anew there, under a layout of its own. So a member that was given up can write nothing when it wakes up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from pyspark import SparkContext

from whorl.errors import WhorlError, WorldError, error_of_data
from whorl.kafka.clients import KafkaClients
from whorl.plan.plan import Host, Plan
from whorl.tasks.assignment import Assignment
from whorl.tasks.control import MEMBER, Drop, Status, Take, member_at, send_order
from whorl.tasks.host import ComponentJob

Elsewhere = Callable[[], Mapping[str, str]]
"""Components that are not the driver's own, and the seat that each has now: empty, while nobody has it."""


class Hosted(Protocol):
    """A component's Spark job, here or elsewhere."""

    assignment: Assignment
    error: Exception | None

    @property
    def seat(self) -> str | None:
        """None: it is the driver's own."""

    @property
    def errors(self) -> list[WhorlError]:
        """Of tasks that ended for good with one."""

    @property
    def description(self) -> str: ...
    def start(self) -> None: ...
    def cancel(self) -> None: ...
    def why_not_started(self) -> str:
        """Why Spark cannot start its tasks, though it tries again and again; empty: nothing is known against it."""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has ended."""


def spark_error(job: Hosted) -> WorldError:
    """Why its Spark job has ended, though nobody wanted it."""
    lines = str(job.error).strip().splitlines() or [type(job.error).__name__]
    return WorldError(f"the Spark job of '{job.description}' ended: {lines[0][:300]}", code="spark")


def not_started(component: str, reason: str) -> WorldError:
    """Of all that Spark says, the first line that names an error and what it is about; Python's come before Java's."""
    said = [line.strip() for line in reason.splitlines() if line.strip() and not line.strip().startswith("at ")]
    raised = next((line for line in said if re.match(r"[A-Za-z_.]*(Error|Exception): ", line)), said[0] if said else "")
    hint = "look at 'py_files', 'archives' and at Python on the executors; --verbose shows more"
    return WorldError(f"Spark cannot start the tasks of '{component}': {raised[:300]}", hint=hint, code="spark")


class RemoteJob:
    """Its tasks are at work in the session of a member, if there is one."""

    error: Exception | None = None

    def __init__(
        self, clients: KafkaClients, seat: str, assignment: Assignment, order: Take, adopted: bool = False
    ) -> None:
        """`adopted`: its tasks are at work already, unless the member says otherwise."""
        self.seat: str | None = seat
        self._adopted = adopted
        self.assignment = assignment
        self.errors: list[WhorlError] = []
        self._over = False
        self._clients, self._order = clients, order
        self._address = member_at(assignment.pipeline, seat)

    @property
    def description(self) -> str:
        return self.assignment.title

    def start(self) -> None:
        if self.seat and not self._adopted:
            send_order(self._clients, self._address, self._order)

    def cancel(self) -> None:
        """Over for the driver at once: whoever cancels fences what may still be at work."""
        self._over = True
        if self.seat:
            send_order(self._clients, self._address, Drop(self._order.component, self.assignment.layout.number))

    def why_not_started(self) -> str:
        """Nothing of that is heard from elsewhere."""
        return ""

    def hear(self, at_work: Collection[str], ended: Mapping[str, list[dict[str, Any]]]) -> None:
        """What its member says of all that it has, as `component/layout`."""
        me = f"{self._order.component}/{self.assignment.layout.number}"
        if me in ended:
            self.errors, self._over = [error_of_data(each) for each in ended[me]], True
        elif self._adopted and me not in at_work:
            self._over = True

    def wait(self, timeout: float | None = None) -> bool:
        return self._over


class Members:
    def __init__(
        self, clients: KafkaClients, elsewhere: Elsewhere, slots: int, adopted: frozenset[str] = frozenset()
    ) -> None:
        """`slots`: that all components of the job take. `adopted`: those whose tasks go on as the driver before this one left them."""
        self._clients, self._elsewhere, self._slots = clients, elsewhere, slots
        self.adopted = adopted
        self._jobs: dict[str, RemoteJob] = {}

    def seat_of(self, component: str) -> str | None:
        return self._elsewhere().get(component)

    def host(self, context: SparkContext, plan: Plan, assignment: Assignment) -> Hosted:
        """Not started yet."""
        id = assignment.component.id
        seat, adopted = self.seat_of(id), id in self.adopted and id not in self._jobs
        if seat is None:
            return ComponentJob(context, assignment, self._clients)
        order = order_of(plan, assignment, self._slots)
        job = self._jobs[id] = RemoteJob(self._clients, seat, assignment, order, adopted)
        return job

    def take(self, news: Iterable[Status]) -> None:
        """Notes what has ended elsewhere."""
        for status in news:
            for job in self._jobs.values() if status.component == MEMBER else ():
                if job.seat == status.error:
                    job.hear(status.figures["at_work"], status.figures["ended"])


def order_of(plan: Plan, assignment: Assignment, slots: int) -> Take:
    component, layout = assignment.component, assignment.layout
    written = {assignment.dead_letter, *component.published.values(), *(each.topic for each in component.outputs)}
    counts = {topic: count for topic, count in assignment.partitions.items() if topic in written}
    by_queries = [output for query in plan.on(Host.QUERY) for output in query.outputs if output.topic]
    return Take(
        assignment.uid,
        component.id,
        {"number": layout.number, "tasks": layout.tasks, "lps": layout.lps},
        assignment.topics,
        {**counts, **assignment.read},
        assignment.limits,
        {output.topic: dict(output.schema) for output in by_queries if output.schema is not None},
        slots,
    )
