"""The table of contents of the system: load, check, plan, survey, start, await."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from whorl.config.loader import Loaded
from whorl.config.writing import to_yaml
from whorl.errors import PreflightFailed, Superseded, UsageError, WhorlError, WorldError
from whorl.flow.check import checked
from whorl.jobs.address import clients_of
from whorl.jobs.begin import first_positions
from whorl.jobs.changes import accepted
from whorl.jobs.cleaning import Cleaning
from whorl.jobs.drifting import DriftWatch
from whorl.jobs.ends import CatchUp, Quiet, is_bounded
from whorl.jobs.gaps import Terms
from whorl.jobs.ground import Ground, make_own_topics, survey
from whorl.jobs.history import EVERY as HISTORY_EVERY
from whorl.jobs.history import History
from whorl.jobs.hold import Hold
from whorl.jobs.interlude import Interlude
from whorl.jobs.job import Job, State
from whorl.jobs.members import Elsewhere, Members
from whorl.jobs.periodic import Periodic
from whorl.jobs.preflight import Flight, preflight
from whorl.jobs.queries import Queries, places_of
from whorl.jobs.schemas import pinned, settle
from whorl.jobs.session import session_options, slots_of
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.plan.plan import Host, Output, OutputKind, Plan
from whorl.plan.planner import make_plan
from whorl.query.ledger import Ledger, wanted_ledger
from whorl.query.pins import fingerprint
from whorl.sinks.view import ViewReader
from whorl.spark.session import SessionOptions, check_slots, close_session, heap_share, open_session
from whorl.tasks.assignment import is_generated
from whorl.tasks.changelog import wanted_changelog
from whorl.tasks.control import Again, Rescale, Savepoint, news_end
from whorl.tasks.driver import Driver, Wanted, refuse_second
from whorl.tasks.generated import length
from whorl.tasks.register import Holder, QueryEntry, Registration, read_registration

_DEFAULT_LIMIT = 1048588


@dataclass(frozen=True)
class RunOptions:
    until_caught_up: bool = False
    until_quiet: bool = False
    fresh: bool = False
    accept_gap: bool = False
    accept_repeat: bool = False
    verbose: bool = False
    accept_loss: frozenset[str] = frozenset()
    """Operators whose state may be left behind."""
    holder: Holder | None = None
    """As whom it holds the pipeline, if not just as this process."""
    elsewhere: Elsewhere = dict
    """Components that members have."""
    adopts: frozenset[str] = frozenset()
    """Those of them that a driver before this one has started there."""
    until_finished: bool = False
    """A pipeline whose sources end ends with them."""
    slots: int = 0
    """Room that Spark is to have in any case, where it runs in this process: so that more tasks need no other session."""


Show = Callable[[Job, dict[str, list[dict[str, object]]]], None]
"""Called several times a second with the job and new rows of its console and list sinks."""


def plan_of(loaded: Loaded) -> Plan:
    return make_plan(checked(loaded), loaded.settings)


def run(loaded: Loaded, options: RunOptions, show: Show, wants_to_stop: Callable[[], bool] = lambda: False) -> Job:
    """Runs a pipeline in the foreground until it is stopped, has caught up or fails; raises what made it fail.

    It works in stretches: an order that needs the pipeline at rest ends one, is carried out, and the next begins."""
    loaded, found = settle(loaded, fresh=options.fresh)
    plan = plan_of(loaded)
    if options.until_quiet:
        refuse_never_quiet(plan)
    cluster = Cluster(clients_of(plan.settings))
    with tempfile.TemporaryDirectory(prefix="whorl-") as folder, ThreadPoolExecutor(1) as aside:
        ground, known = _prepare(plan, cluster, options)
        run = _Run(loaded, plan, cluster, options, show, wants_to_stop, Path(folder), [str(each) for each in found])
        needed = run.session_options(ground, known.tasks if known else 0)
        opening = aside.submit(open_session, needed)  # takes seconds, and needs nothing of what follows
        try:
            hold = Hold(cluster, plan.pipeline, plan.settings.heartbeat, holder=options.holder)
            if options.fresh:
                _fence_queries(plan, ground, cluster, hold.driver.registration.uid)
                hold.driver.start_over()
            _make_topics(plan, ground, cluster, hold.driver.registration)
            pinned(cluster, plan, found)
        finally:
            session = opening.result()
        with hold:
            return run.whole(session, hold, ground)


def refuse_never_quiet(plan: Plan) -> None:
    if plan.queries:
        hint = "use --until-caught-up"
        raise UsageError(f"component '{plan.queries[0].id}' runs in a query, which is never quiet", hint=hint)
    for input in (input for component in plan.components for input in component.inputs):
        if input.source is not None and is_generated(input) and length(input.source, 0) is None:
            what = f"source '{input.id}' makes records without end, so the pipeline is never quiet"
            raise UsageError(what, hint="bound it with 'limit', or run without --until-quiet")


@dataclass
class _Run:
    loaded: Loaded
    plan: Plan
    cluster: Cluster
    options: RunOptions
    show: Show
    wants_to_stop: Callable[[], bool]
    folder: Path
    notices: list[str]
    """What is to be told, once."""

    def whole(self, session: SparkSession, hold: Hold, ground: Ground) -> Job:
        earlier: tuple[Job, ...] = ()
        try:
            ground = self._without_losses(session, hold, ground)
            while True:
                job, order = self._stretch(session, hold, ground, earlier)
                if order is None:
                    return job
                self._carry_out(order, session, hold)
                if isinstance(order, Savepoint) and order.stop:
                    return job
                earlier = (*earlier, job)
                ground = self._ground_of(hold.driver.registration)
                session = self._large_enough(session, ground, hold)
        finally:
            close_session(session)

    def _without_losses(self, session: SparkSession, hold: Hold, ground: Ground) -> Ground:
        """What was accepted as lost is gone before anything runs: nobody finds it again, and no timer of it goes off."""
        losses = accepted(self.plan, hold.driver.registration, self.options.accept_loss, ground.read)
        if not losses:
            return ground
        Interlude(session, self.cluster, hold.driver, self.plan.settings).leave_behind(losses)
        return self._ground_of(hold.driver.registration)

    def _ground_of(self, registration: Registration) -> Ground:
        """With all topics that it needs, of a life that has begun."""
        ground = survey(self.plan, self.cluster, registration)
        _make_topics(self.plan, ground, self.cluster, registration)
        return ground

    def session_options(self, ground: Ground, rescaled: int) -> SessionOptions:
        slots = slots_of(self.plan, ground, self._wanted(ground, rescaled))
        return session_options(
            self.loaded, max(slots, self.options.slots), self.folder, self.plan, self.options.verbose
        )

    def _stretch(
        self, session: SparkSession, hold: Hold, ground: Ground, earlier: tuple[Job, ...]
    ) -> tuple[Job, Savepoint | Rescale | None]:
        """Work until it ends, or until an order needs it at rest."""
        plan, cluster, driver = self.plan, self.cluster, hold.driver
        wanted = self._wanted(ground, driver.registration.tasks)
        elsewhere = self.options.elsewhere()
        check_slots(session, slots_of(plan, ground, {id: want for id, want in wanted.items() if id not in elsewhere}))
        driver.note(**_known(self.loaded, plan))
        limits = _limits(plan, cluster, driver.registration.uid)
        queries = Queries(plan, cluster, ground, places_of(self.loaded), self._terms())
        options = self.options
        queries.prepare(session, driver.registration.uid, limits, options.until_caught_up, options.accept_repeat)
        adopted = frozenset() if earlier else options.adopts & driver.registration.components.keys()
        members = Members(cluster.clients, options.elsewhere, slots_of(plan, ground, wanted), adopted)
        job = Job(session.sparkContext, queries, ground, limits, driver, members, self.notices, earlier)
        try:
            with self._beside(job, session):
                return job, self._await(job, wanted, hold)
        finally:
            job.close()
            if job.was_cancelled:
                self._end_transactions(driver)

    def _end_transactions(self, driver: Driver) -> None:
        """Of tasks that were ended in the middle of one: readers of committed records would wait for them."""
        with suppress(WorldError):  # without a broker, Kafka does so after a while
            self.cluster.brokers()
            driver.fence()

    @contextmanager
    def _beside(self, job: Job, session: SparkSession) -> Iterator[None]:
        """What is looked after now and then while it works."""
        cleaner = Cleaning(self.cluster, self.plan.settings, session)
        every = self.plan.settings.cleaner.interval
        with ExitStack() as beside:
            beside.callback(DriftWatch(self.cluster, self.plan, job.notices.append).start().close)
            history = History(self.cluster.clients, job, job.uid, partial(heap_share, session))
            beside.callback(Periodic("whorl-history", history.tell, HISTORY_EVERY).start().close)
            if every is not None:
                clean = partial(_clean, cleaner, self.plan.pipeline, job.notices)
                beside.callback(Periodic("whorl-cleaner", clean, every, at_once=False).start().close)
            yield

    def _await(self, job: Job, wanted: dict[str, Wanted], hold: Hold) -> Savepoint | Rescale | None:
        cluster, order = self.cluster, None
        views = [output for output in job.plan.outputs if output.kind is OutputKind.VIEW]
        view = ViewReader(cluster.clients, views, _view_ends(cluster, job, views)) if views else None
        end = self._end(job)
        job.start(cluster, wanted, news_end(cluster, job.plan.pipeline), self.options.until_caught_up)
        while not job.is_over:
            job.look(0.05 if view else 0.1)
            order = order or self._order(hold, job)
            if order is not None:
                job.pause()
            if self.wants_to_stop():
                job.stop()
            elif end and job.state is State.RUNNING and end.reached():
                job.has_finished = True
                job.stop()
            self.show(job, view.read(0.05) if view else {})
        ends = _view_ends(cluster, job, views) if view else {}
        while view and not view.has_reached(ends):
            self.show(job, view.read(0.1))
        if job.error is not None:
            if order is not None:
                hold.answer(order.id, {}, job.error)
            raise job.error
        return order

    def _end(self, job: Job) -> CatchUp | Quiet | None:
        """What says when it is done, where it is to end by itself."""
        if self.options.until_quiet or (self.options.until_finished and is_bounded(self.plan)):
            return Quiet(self.cluster, job)
        return CatchUp(self.cluster, job) if self.options.until_caught_up else None

    def _order(self, hold: Hold, job: Job) -> Savepoint | Rescale | None:
        order = hold.order()
        if isinstance(order, Savepoint | Rescale):
            if job.queries.jobs and self.options.until_caught_up:
                hint = "wait for its end, or run it without --until-caught-up"
                reason = WorldError("a query that runs until it has caught up cannot pause", hint=hint, code="order")
                hold.answer(order.id, {}, reason)
                return None
            return order
        if isinstance(order, Again):
            hold.answer(order.id, *_restarted(job, order.component))
        elif order is not None:
            job.stop()
        return None

    def _carry_out(self, order: Savepoint | Rescale, session: SparkSession, hold: Hold) -> None:
        """What is against it is told to who asked; the pipeline goes on as it was."""
        try:
            done = Interlude(session, self.cluster, hold.driver, self.plan.settings).carry_out(order)
        except Superseded:
            raise
        except Exception as error:
            hold.answer(order.id, {}, error if isinstance(error, WhorlError) else _unforeseen(error))
        else:
            hold.answer(order.id, done)

    def _large_enough(self, session: SparkSession, ground: Ground, hold: Hold) -> SparkSession:
        """Spark's slots are counted when it starts."""
        tasks = hold.driver.registration.tasks
        if session.sparkContext.defaultParallelism >= slots_of(self.plan, ground, self._wanted(ground, tasks)):
            return session
        close_session(session)
        return open_session(self.session_options(ground, tasks))

    def _terms(self) -> Terms:
        return Terms(self.plan.settings, self.options.accept_gap, self.notices.append)

    def _wanted(self, ground: Ground, rescaled: int) -> dict[str, Wanted]:
        wanted = {}
        for component in self.plan.on(Host.TASKS):
            lps, read = ground.lps[component.id], ground.read_by(component)
            wanted[component.id] = Wanted(
                component=component.id,
                group=component.group,
                tasks=min(lps, rescaled or self.plan.settings.tasks or os.cpu_count() or 1),
                lps=lps,
                places=tuple((topic, p) for topic, count in read.items() for p in range(count)),
                first=partial(first_positions, self.cluster, component, ground, self._terms()),
                kept=component.kept,
                versions=component.versions,
                edges=self.plan.edges_into(component),
                types=component.types,
                states=component.states,
                sources=ground.sources_of(component),
            )
        return wanted


def _restarted(job: Job, component: str) -> tuple[dict[str, Any], WhorlError | None]:
    try:
        job.restart(component)
    except WhorlError as error:
        return {}, error
    return {"component": component}, None


def _clean(cleaner: Cleaning, pipeline: str, notices: list[str]) -> None:
    found = cleaner.found(pipeline, holding=True)
    cleaner.delete(found)
    notices += [f"cleaned: {each}" for each in found]


def _known(loaded: Loaded, plan: Plan) -> dict[str, Any]:
    """What the register is to know of it besides layouts."""
    queries = {
        component.id: QueryEntry.of(plan, component, fingerprint(component)) for component in plan.on(Host.QUERY)
    }
    file = Path(loaded.spec.file).resolve()
    content = file.read_bytes() if file.is_file() else to_yaml(loaded.document.data).encode()
    return {"queries": queries, "file": str(file), "fingerprint": hashlib.sha256(content).hexdigest()}


def _unforeseen(error: Exception) -> WorldError:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return WorldError(
        first[:300], hint="nothing was changed; the output of 'whorl run --verbose' says more", code="spark"
    )


def _prepare(plan: Plan, cluster: Cluster, options: RunOptions) -> tuple[Ground, Registration | None]:
    """Looks before it leaps: the register is read and the cluster surveyed; findings end it here."""
    make_own_topics(plan.pipeline, cluster, plan.settings)
    registration = read_registration(cluster.clients, plan.pipeline)
    refuse_second(cluster.clients, registration, plan.settings, news_end(cluster, plan.pipeline), options.holder)
    known = None if options.fresh else registration
    ground = survey(plan, cluster, known)
    findings = preflight(Flight(plan, ground, cluster, known, options.accept_gap, options.accept_loss))
    if findings:
        raise PreflightFailed(findings)
    return ground, known


def _make_topics(plan: Plan, ground: Ground, cluster: Cluster, registration: Registration) -> None:
    name, uid = plan.pipeline, registration.uid
    changelogs = [
        wanted_changelog(naming.changelog_topic(name, uid, each.id), ground.lps[each.id], each.keeps_state)
        for each in plan.on(Host.TASKS)
    ]
    ledgers = [wanted_ledger(naming.ledger_topic(name, uid, each.id)) for each in plan.on(Host.QUERY)]
    new = [topic for topic in (*changelogs, *ledgers) if topic.name not in ground.partitions]
    cluster.create([*ground.missing, *new], cluster.replication(plan.settings.replication))


def _fence_queries(plan: Plan, ground: Ground, cluster: Cluster, uid: str) -> None:
    """So that a query of the life that ends here can write nothing any more."""
    for topic in naming.ledgers(plan.pipeline, uid, ground.partitions):
        component = topic.removesuffix(".ledger").rpartition(f".{uid}.")[2]
        Ledger(cluster.clients, topic, uid, component).take()


def _limits(plan: Plan, cluster: Cluster, uid: str) -> dict[str, int]:
    """The largest message that each topic written takes."""
    written = {plan.dead_letter, *(output.topic for output in plan.outputs if output.topic)}
    for component in plan.on(Host.TASKS):
        written |= {naming.changelog_topic(plan.pipeline, uid, component.id), *component.published.values()}
    configs = cluster.topic_config(written)
    return {topic: int(config.get("max.message.bytes", _DEFAULT_LIMIT)) for topic, config in configs.items()}


def _view_ends(cluster: Cluster, job: Job, views: list[Output]) -> dict[tuple[str, int], int]:
    return cluster.latest((view.topic, p) for view in views for p in range(job.ground.partitions[view.topic]))
