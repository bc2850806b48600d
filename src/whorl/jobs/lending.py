"""A member of a job: a Spark session in which tasks run of components that another process leads.

It starts what the driver tells it to take, and says what has ended. It neither writes the register nor starts anything again: a Spark job
that breaks ends the member, and its components go to another.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from whorl.config.loader import Loaded
from whorl.errors import error_as_data
from whorl.jobs.address import clients_of
from whorl.jobs.ground import make_own_topics
from whorl.jobs.members import spark_error
from whorl.jobs.queries import with_columns
from whorl.jobs.runner import plan_of
from whorl.jobs.schemas import settle
from whorl.jobs.session import is_local, session_options
from whorl.kafka.topics import Cluster
from whorl.plan.plan import Host, Plan
from whorl.schema import Schema
from whorl.spark.session import check_slots, close_session, open_session, slots_needed
from whorl.tasks.assignment import Assignment
from whorl.tasks.control import MEMBER, Drop, OrderReader, Status, StatusWriter, Take, member_at
from whorl.tasks.host import ComponentJob
from whorl.tasks.layout import Layout
from whorl.tasks.register import read_registration

_LOOK = 0.1


def lend(loaded: Loaded, seat: str, slots: int, over: Callable[[], bool], show: Callable[[SparkSession], None]) -> None:
    """Until it is over; raises what went wrong with Spark. `slots`: as of `RunOptions`. `show` is called several times a second."""
    cluster = Cluster(clients_of(loaded.settings))
    make_own_topics(loaded.spec.name, cluster, loaded.settings)
    with tempfile.TemporaryDirectory(prefix="whorl-") as folder:
        member = _Member(loaded, cluster, seat, slots, Path(folder))
        try:
            while not over():
                member.look()
                show(member.session)
        finally:
            member.close()


class _Member:
    def __init__(self, loaded: Loaded, cluster: Cluster, seat: str, slots: int, folder: Path) -> None:
        self._loaded, self._clients, self._seat, self._folder = loaded, cluster.clients, seat, folder
        self._pipeline = loaded.spec.name
        self._jobs: dict[str, ComponentJob] = {}
        self._uid = ""
        self._orders = OrderReader(self._clients, member_at(self._pipeline, seat))
        self._writer = StatusWriter(self._clients, self._pipeline)
        self._said_at, self._said = 0.0, set[str]()
        self.session = self._open(max(slots, self._foreseen()))

    def _open(self, slots: int) -> SparkSession:
        return open_session(session_options(self._loaded, slots, self._folder))

    def _foreseen(self) -> int:
        """Slots for all tasks of the job: any of them may come here."""
        plan, known = self._plan(), read_registration(self._clients, self._pipeline)
        tasks = (known.tasks if known else 0) or plan.settings.tasks or os.cpu_count() or 1
        return slots_needed(sum(tasks + each.standbys(plan.settings, tasks) for each in plan.on(Host.TASKS)))

    def _plan(self) -> Plan:
        return plan_of(settle(self._loaded)[0])

    # -- what the driver says ---------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        order = self._orders.next(_LOOK)
        if isinstance(order, Take):
            self._take(order)
        elif isinstance(order, Drop):
            self._drop(order)
        self._tell()

    def _take(self, order: Take) -> None:
        """Unless it was told long ago: who comes to a seat hears all that was ever said to it."""
        known = read_registration(self._clients, self._pipeline)
        entry = known.components.get(order.component) if known and known.uid == order.uid else None
        if entry is None or entry.layout.number != order.layout["number"]:
            return
        assignment = assignment_of(self._plan(), order)
        self._make_room(order, assignment.layout.tasks + assignment.standbys)
        self._uid = order.uid
        job = self._jobs[order.component] = ComponentJob(self.session.sparkContext, assignment, self._clients)
        job.start()

    def _make_room(self, order: Take, tasks: int) -> None:
        at_work = [job.assignment for job in self._jobs.values() if not job.wait(0)]
        is_small = self.session.sparkContext.defaultParallelism < order.slots
        if is_small and is_local(self._loaded.settings) and not at_work:
            close_session(self.session)
            self.session = self._open(order.slots)
        check_slots(self.session, slots_needed(tasks + sum(each.layout.tasks + each.standbys for each in at_work)))

    def _drop(self, order: Drop) -> None:
        job = self._jobs.get(order.component)
        if job is not None and job.assignment.layout.number == order.layout:
            self._jobs.pop(order.component)
            job.cancel()

    # -- what it says -----------------------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Again and again, so that a driver that comes later hears it too."""
        ended = {id: job for id, job in self._jobs.items() if job.wait(0)}
        if broken := next((job for job in ended.values() if job.error is not None), None):
            raise spark_error(broken)
        heartbeat = self._loaded.settings.heartbeat
        if self._uid and (set(ended) != self._said or time.monotonic() - self._said_at >= heartbeat):
            self._said, self._said_at = set(ended), time.monotonic()
            self._writer.write(self._status(ended))

    def _status(self, ended: dict[str, ComponentJob]) -> Status:
        named = {id: f"{id}/{job.assignment.layout.number}" for id, job in self._jobs.items()}
        told = {
            "at_work": [named[id] for id in self._jobs if id not in ended],
            "ended": {named[id]: [error_as_data(error) for error in job.errors] for id, job in ended.items()},
        }
        here = (platform.node(), os.getpid())
        return Status(self._uid, MEMBER, 0, 0, 0, *here, "member", time.time(), told, error=self._seat)

    def close(self) -> None:
        self._orders.close()
        self._writer.flush()
        close_session(self.session)


def assignment_of(plan: Plan, order: Take) -> Assignment:
    """What the driver made, from the same file."""
    plan = with_columns(plan, {topic: Schema.of(columns) for topic, columns in order.columns.items()})
    return Assignment(
        pipeline=plan.pipeline,
        uid=order.uid,
        component=next(each for each in plan.components if each.id == order.component),
        layout=Layout(**order.layout),
        topics={input: tuple(topics) for input, topics in order.topics.items()},
        partitions=order.partitions,
        limits=order.limits,
        dead_letter=plan.dead_letter,
        settings=plan.settings,
    )
