"""The table of contents of the system: load, check, plan, survey, start, await."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from whorl.config.loader import Loaded
from whorl.errors import PreflightFailed
from whorl.graph.check import checked
from whorl.jobs.address import clients_of
from whorl.jobs.begin import first_positions
from whorl.jobs.bundle import bundle_user_code, bundle_whorl
from whorl.jobs.ends import CatchUp
from whorl.jobs.ground import Ground, changelog, kept, own_topics, survey
from whorl.jobs.job import Job, State
from whorl.jobs.preflight import Flight, preflight
from whorl.jobs.queries import Queries, places_of
from whorl.jvm.jars import CONNECTOR, resolve
from whorl.kafka.topics import Cluster, TopicWanted
from whorl.plan import naming
from whorl.plan.plan import Delivery, Host, Output, OutputKind, Plan
from whorl.plan.planner import make_plan
from whorl.query.ledger import PARTITIONS, Ledger
from whorl.query.pins import session_settings
from whorl.sinks.view import ViewReader
from whorl.spark.session import SessionOptions, check_slots, open_session, slots_needed
from whorl.tasks.driver import Driver, Wanted, refuse_second
from whorl.tasks.register import Registration, read_registration

_DEFAULT_LIMIT = 1048588


@dataclass(frozen=True)
class RunOptions:
    until_caught_up: bool = False
    fresh: bool = False
    accept_gap: bool = False
    accept_repeat: bool = False
    verbose: bool = False
    accept_loss: frozenset[str] = frozenset()
    """Operators whose state may be left behind."""


Show = Callable[[Job, dict[str, list[dict[str, object]]]], None]
"""Called several times a second with the job and new rows of its console and list sinks."""


def plan_of(loaded: Loaded) -> Plan:
    return make_plan(checked(loaded), loaded.settings)


def run(loaded: Loaded, options: RunOptions, show: Show, wants_to_stop: Callable[[], bool] = lambda: False) -> Job:
    """Runs a pipeline in the foreground until it is stopped, has caught up or fails; raises what made it fail."""
    plan = plan_of(loaded)
    clients = clients_of(plan.settings)
    cluster = Cluster(clients)
    with tempfile.TemporaryDirectory(prefix="whorl-") as folder, ThreadPoolExecutor(1) as aside:
        ground = _prepare(plan, cluster, options)
        wanted = _wanted(plan, ground, cluster, options)
        session_options = _session_options(plan, loaded, ground, wanted, Path(folder), options)
        opening = aside.submit(open_session, session_options)  # takes seconds, and needs nothing of what follows
        try:
            driver = Driver(clients, plan.pipeline)
            if options.fresh:
                _fence_queries(plan, ground, cluster, driver.registration.uid)
                driver.start_over()
            _make_topics(plan, ground, cluster, driver.registration)
        finally:
            session = opening.result()
        try:
            check_slots(session, session_options.slots)
            limits = _limits(plan, cluster)
            queries = Queries(plan, cluster, ground, places_of(loaded))
            queries.prepare(session, driver.registration.uid, limits, options.until_caught_up, options.accept_repeat)
            job = Job(session.sparkContext, queries, ground, limits, driver)
            return _await(job, wanted, cluster, options, show, wants_to_stop)
        finally:
            with suppress(Exception):  # a JVM that was killed cannot be stopped, and has said so already
                session.stop()


def _prepare(plan: Plan, cluster: Cluster, options: RunOptions) -> Ground:
    """Looks before it leaps: the register is read and the cluster surveyed; findings end it here."""
    own = own_topics(plan.pipeline)
    there = cluster.partition_counts()
    replication = _replication(plan, cluster)
    cluster.create([TopicWanted(name, 1, config) for name, config in own.items() if name not in there], replication)
    registration = read_registration(cluster.clients, plan.pipeline)
    refuse_second(cluster.clients, registration, plan.settings, _news_end(cluster, plan))
    known = None if options.fresh else registration
    ground = survey(plan, cluster, known)
    findings = preflight(Flight(plan, ground, cluster, known, options.accept_gap, options.accept_loss))
    if findings:
        raise PreflightFailed(findings)
    return ground


def _news_end(cluster: Cluster, plan: Plan) -> int:
    """Where the status topic ends now."""
    place = (naming.status_topic(plan.pipeline), 0)
    return cluster.latest([place])[place]


def _replication(plan: Plan, cluster: Cluster) -> int:
    return plan.settings.replication or min(3, cluster.brokers())


def _make_topics(plan: Plan, ground: Ground, cluster: Cluster, registration: Registration) -> None:
    changelogs = [
        changelog(plan, component, registration.uid, ground.lps[component.id]) for component in plan.on(Host.TASKS)
    ]
    ledgers = [
        kept(naming.ledger_topic(plan.pipeline, registration.uid, component.id), PARTITIONS)
        for component in plan.on(Host.QUERY)
    ]
    new = [topic for topic in (*changelogs, *ledgers) if topic.name not in ground.partitions]
    cluster.create([*ground.missing, *new], _replication(plan, cluster))


def _wanted(plan: Plan, ground: Ground, cluster: Cluster, options: RunOptions) -> dict[str, Wanted]:
    wanted = {}
    for component in plan.on(Host.TASKS):
        lps = ground.lps[component.id]
        places = tuple((topic, p) for topic, count in ground.read_by(component).items() for p in range(count))
        first = partial(first_positions, cluster, component, ground, options.accept_gap)
        tasks = min(lps, plan.settings.tasks or os.cpu_count() or 1)
        wanted[component.id] = Wanted(
            component.id, component.group, tasks, lps, places, first, component.kept, component.versions
        )
    return wanted


def _session_options(
    plan: Plan, loaded: Loaded, ground: Ground, wanted: dict[str, Wanted], folder: Path, options: RunOptions
) -> SessionOptions:
    settings = plan.settings
    local = settings.master.startswith("local")
    bundles = [
        bundle_user_code(Path(loaded.spec.file).resolve().parent, folder),
        None if local else bundle_whorl(folder),
    ]
    return SessionOptions(
        name=f"whorl {plan.pipeline}",
        master=settings.master,
        slots=slots_needed(sum(want.tasks for want in wanted.values()) + _query_slots(plan, ground)),
        settings={**_query_settings(plan), **settings.spark},
        py_files=(*(str(path) for path in bundles if path), *settings.py_files),
        archives=tuple(settings.archives),
        verbose=options.verbose,
    )


def _query_slots(plan: Plan, ground: Ground) -> int:
    """A batch takes what cores there are; in real-time mode every partition that is read has a task of its own, all the time."""
    queries = plan.on(Host.QUERY)
    at_once = [component for component in queries if component.delivery is Delivery.REALTIME]
    partitions = sum(sum(ground.read_by(component).values()) * len(component.outputs) for component in at_once)
    return partitions + (os.cpu_count() or 1) * (len(queries) > len(at_once))


def _query_settings(plan: Plan) -> dict[str, str]:
    if not plan.on(Host.QUERY):
        return {}
    return {**session_settings(), "spark.jars": ",".join(str(path) for path in resolve(CONNECTOR))}


def _fence_queries(plan: Plan, ground: Ground, cluster: Cluster, uid: str) -> None:
    """So that a query of the life that ends here can write nothing any more."""
    for topic in naming.ledgers(plan.pipeline, uid, ground.partitions):
        component = topic.removesuffix(".ledger").rpartition(f".{uid}.")[2]
        Ledger(cluster.clients, topic, uid, component).take()


def _limits(plan: Plan, cluster: Cluster) -> dict[str, int]:
    """The largest message that each topic written takes."""
    written = {plan.dead_letter, *(output.topic for output in plan.outputs if output.topic)}
    configs = cluster.topic_config(written)
    return {topic: int(config.get("max.message.bytes", _DEFAULT_LIMIT)) for topic, config in configs.items()}


def _await(
    job: Job,
    wanted: dict[str, Wanted],
    cluster: Cluster,
    options: RunOptions,
    show: Show,
    wants_to_stop: Callable[[], bool],
) -> Job:
    views = [output for output in job.plan.outputs if output.kind is OutputKind.VIEW]
    view = ViewReader(cluster.clients, views, _view_ends(cluster, job, views)) if views else None
    catch_up = CatchUp(cluster, job) if options.until_caught_up else None
    try:
        job.start(cluster, wanted, _news_end(cluster, job.plan), options.until_caught_up)
        while not job.is_over:
            job.look(0.05 if view else 0.1)
            if wants_to_stop() or (catch_up and job.state is State.RUNNING and catch_up.reached()):
                job.stop()
            show(job, view.read(0.05) if view else {})
        ends = _view_ends(cluster, job, views) if view else {}
        while view and not view.has_reached(ends):
            show(job, view.read(0.1))
    finally:
        job.close()
    if job.error is not None:
        raise job.error
    return job


def _view_ends(cluster: Cluster, job: Job, views: list[Output]) -> dict[tuple[str, int], int]:
    return cluster.latest((view.topic, p) for view in views for p in range(job.ground.partitions[view.topic]))
