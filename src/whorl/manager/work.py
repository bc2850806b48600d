"""What a task manager does with a job: it becomes the Spark driver of it, or a member beside that, from a bundle in a folder of its own."""

from __future__ import annotations

import os
import signal
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from whorl.config.loader import Loaded, load
from whorl.errors import PreflightFailed, Superseded, WhorlError
from whorl.jobs.address import clients_of
from whorl.jobs.changes import refused
from whorl.jobs.job import Job
from whorl.jobs.lending import lend
from whorl.jobs.resume import on_former_hosts, resume_from
from whorl.jobs.runner import RunOptions, plan_of, run
from whorl.jobs.session import session_aside
from whorl.jobs.told import Progress
from whorl.kafka.topics import Cluster
from whorl.manager.agent import Agent
from whorl.manager.bounds import Bounds
from whorl.manager.report import Reporter
from whorl.savepoints.by_spark import by_spark
from whorl.server.orders import Ended, Failed, Run
from whorl.server.schemas import Report
from whorl.spark.session import master_of
from whorl.tasks.register import Holder

_HELPLESS = {"already-running", "gave-up", "stop-timeout"}
"""Errors that another start would only repeat."""


_REPORT_EVERY = 0.5


def perform(order: Run, folder: Path, agent: Agent) -> Ended:
    """Until it is stopped or fails; says how it ended."""
    holder = Holder.this(order.job, order.attempt)
    try:
        loaded = load(folder / order.file, profile=order.profile, overrides=order.settings, name=order.pipeline)
        if order.seat:
            lend(loaded, order.seat, agent.slots, lambda: agent.wants_to_leave, _Lending(agent))
            return Ended(how="left")
        job = _lead(loaded, order, holder, agent)
    except Exception as error:
        return ended_by(error)
    return Ended(how="finished" if job.has_finished else "left" if agent.wants_to_leave else "stopped")


def _lead(loaded: Loaded, order: Run, holder: Holder, agent: Agent) -> Job:
    if order.savepoint:
        _restore(loaded, order.savepoint, holder)
        agent.restored()
    options = RunOptions(
        holder=holder,
        elsewhere=agent.elsewhere,
        adopts=frozenset(order.adopts),
        until_finished=True,
        slots=agent.slots,
    )
    bounds = Bounds(Cluster(clients_of(loaded.settings)))
    return run(loaded, options, _Reporting(agent, bounds), lambda: agent.wants_to_stop)


def drop() -> None:
    """Without Spark's JVM nothing of the job goes on."""
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        with suppress(OSError):
            os.kill(gateway.proc.pid, signal.SIGKILL)


class _Reporting:
    """Tells the server of the job while it runs; what a terminal would show goes to the job's log."""

    def __init__(self, agent: Agent, bounds: Bounds) -> None:
        self._agent, self._reporter, self._progress = agent, Reporter(agent.id, bounds), Progress()
        self._again_at, self._headed = 0.0, False

    def __call__(self, job: Job, rows: dict[str, list[dict[str, object]]]) -> None:
        if not self._headed:
            self._headed = True
            for line in job.headlines():
                self._agent.say("INFO", line)
        for sink, new in rows.items():
            for row in new:
                self._agent.say("INFO", str(row), component=sink)
        if time.monotonic() >= self._again_at:
            self._again_at = time.monotonic() + _REPORT_EVERY
            report = self._reporter.report(job)
            for notice in self._reporter.new_notices:
                self._agent.say("WARNING", notice)
            for failure in report.failures:
                where = f"{failure.where}: " if failure.where else ""
                self._agent.say("ERROR", f"{where}{failure.error}", component=failure.component)
            self._agent.note(report)
        for told in self._progress.lines(job):
            self._agent.say(*told)
        self._agent.rests() if job.is_over else self._agent.moves()


class _Lending:
    """Tells the server of a member that it is there; what runs in it is told by the driver."""

    def __init__(self, agent: Agent) -> None:
        self._agent, self._again_at, self._headed = agent, 0.0, False

    def __call__(self, session: SparkSession) -> None:
        self._agent.moves()
        if not self._headed:
            self._headed = True
            context = session.sparkContext
            self._agent.say("INFO", f"Spark application {context.applicationId} on {master_of(context)}: a member")
        if time.monotonic() >= self._again_at:
            self._again_at = time.monotonic() + _REPORT_EVERY
            self._agent.note(Report(at=time.time()))


def _restore(loaded: Loaded, savepoint: str, holder: Holder) -> None:
    """From now on the pipeline is what the savepoint says."""
    plan = plan_of(loaded)
    with session_aside(loaded.settings, plan.pipeline) as session:
        folder, manifest = by_spark(session, loaded.settings.savepoints).find(savepoint)
        saved = manifest.registration
        if findings := list(refused(on_former_hosts(plan, saved), saved, frozenset())):
            raise PreflightFailed(findings)
        resume_from(session, plan, folder, manifest, holder)


def ended_by(error: Exception) -> Ended:
    if not isinstance(error, WhorlError):
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        trace = "".join(traceback.format_exception(error))
        failed = Failed(error=f"{type(error).__name__}: {first}"[:500], trace=trace[-20_000:], code="crash")
        return Ended(how="failed", failed=failed)
    failed = Failed(
        error=error.message,
        code=error.code,
        hint=error.hint,
        where=error.where,
        trace=str(getattr(error, "trace", ""))[-20_000:],
        helps=error.exit_code == 3 and error.code not in _HELPLESS and not isinstance(error, PreflightFailed),
    )
    is_superseded = isinstance(error, Superseded) and error.code != "already-running"
    return Ended(how="superseded" if is_superseded else "failed", failed=failed)
