"""A job as its task manager sees it, in the words of the server. Made once a heartbeat from what tasks and queries have told anyway."""

from __future__ import annotations

import platform
import re
import time
from collections import deque
from collections.abc import Iterator

from whorl.jobs.job import Job, State
from whorl.manager.bounds import Bound, Bounds
from whorl.plan.plan import Component as Planned
from whorl.query.host import QueryJob, QueryState
from whorl.server.schemas import Component, ComponentStatus, Failure, Health, Offset, Partition, Report
from whorl.server.seats import manager_of
from whorl.tasks.assignment import GENERATED
from whorl.tasks.layout import Layout
from whorl.tasks.watch import ComponentView, TaskFailure, TaskView

_HEALTH = {
    ComponentStatus.RUNNING: Health.OK,
    ComponentStatus.STARTING: Health.STARTING,
    ComponentStatus.RESTARTING: Health.DEGRADED,
    ComponentStatus.STOPPED: Health.NONE,
    ComponentStatus.FAILED: Health.FAILED,
}
_QUERY = {
    QueryState.PREPARED: ComponentStatus.STARTING,
    QueryState.RUNNING: ComponentStatus.RUNNING,
    QueryState.WAITING: ComponentStatus.RESTARTING,
}
_RATE_OVER = 4.0
"""Seconds; tasks tell their figures at every heartbeat."""
_PLACE = re.compile(r"(\S+:\d+(?::\d+)?): ")


class Reporter:
    """Keeps what rates are made of: what was told the last time."""

    def __init__(self, task_manager: str, bounds: Bounds) -> None:
        self._id, self._bounds = task_manager, bounds
        self._since = time.time()
        self._before: dict[str, deque[tuple[float, dict[str, float]]]] = {}
        self._failures_told: dict[str, int] = {}
        self._notices: list[str] = []
        self.new_notices: list[str] = []
        self._lps: dict[str, int] = {}
        self._at: dict[str, str] = {}
        """Components of tasks: this task manager, or the seat that they have elsewhere."""

    def report(self, job: Job) -> Report:
        self.new_notices = self._new_notices(job)
        self._notices += self.new_notices
        self._lps = dict(job.ground.lps)
        self._at = {id: self._id if hosted.seat is None else hosted.seat for id, hosted in job.jobs.items()}
        planned = {component.id: component for component in job.plan.components}
        tasks = [self._tasks(job, planned[id], view) for id, view in job.watch.components.items()]
        queries = [self._query(planned[id], query) for id, query in job.queries.jobs.items()]
        return Report(
            at=time.time(),
            uid=job.uid,
            spark_ui=job.spark_ui,
            components=[*tasks, *queries],
            partitions=[each for id, view in job.watch.components.items() for each in self._partitions(job, id, view)],
            offsets=self._bounded([*self._task_offsets(job), *self._query_offsets(job, planned)]),
            failures=[*self._new_failures(job)],
            notices=self._notices[-50:],
        )

    # -- components -------------------------------------------------------------------------------------------------------------------

    def _tasks(self, job: Job, planned: Planned, view: ComponentView) -> Component:
        status = _status(job, view)
        totals = {name: view.total(name) for name in ("read", "written", "dead", "commits", "commit_seconds", "waited")}
        rates = self._rates(planned.id, totals)
        commits = rates.get("commits", 0.0)
        return Component(
            id=planned.id,
            host="tasks",
            status=status,
            health=_HEALTH[status],
            task_manager=self._at[planned.id],
            since=self._since,
            operators=[placed.node.id for placed in planned.operators],
            tasks=len(view.tasks),
            logical_partitions=job.ground.lps[planned.id],
            layout=view.layout,
            read=int(totals["read"]),
            written=int(totals["written"]),
            dead=int(totals["dead"]),
            rate_in=rates.get("read"),
            rate_out=rates.get("written"),
            lag=int(view.total("lag")) if all(task.status for task in view.tasks) else None,
            busy=_share(1 - rates["waited"] / max(len(view.tasks), 1)) if "waited" in rates else None,
            state_keys=int(view.total("state_keys")) if planned.keeps_state else None,
            state_bytes=int(view.total("state_bytes")) if planned.keeps_state else None,
            batch_ms=1000 * rates["commit_seconds"] / commits if commits else None,
            latency_ms=view.latency_ms,
            watermark=view.watermark / 1000 if view.watermark is not None else None,
            step=", ".join(sorted(view.steps)),
            failures=len(view.failures),
            last_error=view.last_error,
        )

    def _query(self, planned: Planned, query: QueryJob) -> Component:
        figures = query.figures
        status = _QUERY.get(query.state, ComponentStatus.FAILED if query.error else ComponentStatus.STOPPED)
        rates = self._rates(planned.id, {"read": figures.read, "written": query.written, "busy": figures.busy_seconds})
        return Component(
            id=planned.id,
            host="query",
            status=status,
            health=_HEALTH[status],
            task_manager=self._id,
            since=self._since,
            operators=[placed.node.id for placed in planned.operators],
            read=figures.read,
            written=query.written,
            dead=query.batches.dead,
            rate_in=rates.get("read"),
            rate_out=rates.get("written"),
            lag=figures.lag,
            busy=_share(rates["busy"]) if "busy" in rates else None,
            state_keys=figures.state_rows or None,
            state_bytes=figures.state_bytes or None,
            batch_ms=figures.batch_seconds * 1000,
            latency_ms=figures.latency_ms,
            watermark=figures.watermark_time,
            step=f"batch {figures.batch}" if figures.batch >= 0 else query.state.value,
            failures=query.restarts,
            last_error=str(query.error or ""),
        )

    def _rates(self, id: str, totals: dict[str, float]) -> dict[str, float]:
        """By second, over the last seconds; what went back to zero with a new layout has none."""
        now, seen = time.monotonic(), self._before.setdefault(id, deque())
        if seen and any(totals[name] < value for name, value in seen[-1][1].items()):
            seen.clear()
        seen.append((now, totals))
        while len(seen) > 2 and now - seen[1][0] >= _RATE_OVER:
            seen.popleft()
        at, before = seen[0]
        return {name: (totals[name] - value) / (now - at) for name, value in before.items()} if now > at + 1 else {}

    # -- where ------------------------------------------------------------------------------------------------------------------------

    def _partitions(self, job: Job, id: str, view: ComponentView) -> Iterator[Partition]:
        layout = Layout(view.layout, len(view.tasks), job.ground.lps[id])
        lags = _lags(view)
        for lp in range(layout.lps):
            number = layout.task_of(lp)
            status = view.tasks[number].status
            failed = [failure for failure in view.told if failure.task == number]
            yield Partition(
                component=id,
                lp=lp,
                task=number,
                host=status.host if status else "",
                pid=status.pid if status else None,
                lag=sum(lag for (_, p), lag in lags.items() if layout.lp_of(p) == lp),
                failures=len(failed),
                last_failure=self._failure(id, view, failed[-1]) if failed else None,
            )

    def _task_offsets(self, job: Job) -> Iterator[Offset]:
        groups = {component.id: component.group for component in job.plan.components}
        for id, view in job.watch.components.items():
            lags = _lags(view)
            for (topic, partition), at in view.positions.items():
                if not topic.startswith(GENERATED):
                    lag = lags.get((topic, partition), 0)
                    yield Offset(
                        component=id,
                        group=groups[id],
                        topic=topic,
                        partition=partition,
                        committed=at,
                        latest=at + lag,
                        lag=lag,
                    )

    def _query_offsets(self, job: Job, planned: dict[str, Planned]) -> Iterator[Offset]:
        for id, query in job.queries.jobs.items():
            for (topic, partition), at in query.figures.positions.items():
                yield Offset(component=id, group=planned[id].group, topic=topic, partition=partition, committed=at)

    def _bounded(self, offsets: list[Offset]) -> list[Offset]:
        """With where topics begin; and of queries, which do not tell, where they end."""
        bounds = self._bounds.of({(each.topic, each.partition) for each in offsets})
        return [_with_bound(each, bounds[(each.topic, each.partition)]) for each in offsets]

    # -- what went wrong --------------------------------------------------------------------------------------------------------------

    def _new_failures(self, job: Job) -> Iterator[Failure]:
        for id, view in job.watch.components.items():
            told = self._failures_told.get(id, 0)
            yield from (self._failure(id, view, failure) for failure in view.told[told:])
            self._failures_told[id] = len(view.told)

    def _failure(self, id: str, view: ComponentView, failure: TaskFailure) -> Failure:
        where, error = _user_line(failure.error)
        lps = Layout(view.layout, len(view.tasks), self._lps[id]).lps_of(failure.task)
        return Failure(
            at=failure.at,
            component=id,
            error=error,
            where=where,
            task=failure.task,
            lps=[*lps],
            host=failure.host or platform.node(),
            pid=failure.pid,
            task_manager=manager_of(self._at[id]),
        )

    def _new_notices(self, job: Job) -> list[str]:
        found = list(job.notices)
        job.notices.clear()
        for id, query in job.queries.jobs.items():
            found += [f"{id}: {notice}" for notice in query.batches.notices]
            query.batches.notices.clear()
        return found


def _with_bound(offset: Offset, bound: Bound) -> Offset:
    known: dict[str, int | None] = {"earliest": bound.earliest}
    if offset.latest is None and bound.latest is not None:
        known |= {"latest": bound.latest, "lag": max(bound.latest - (offset.committed or 0), 0)}
    return offset.model_copy(update=known)


def _status(job: Job, view: ComponentView) -> ComponentStatus:
    if job.state in (State.ENDED, State.FAILED):
        return ComponentStatus.FAILED if job.error else ComponentStatus.STOPPED
    if any(_is_down(task) for task in view.tasks):
        return ComponentStatus.RESTARTING
    begun = all(task.status is not None and task.status.state == "running" for task in view.tasks)
    at_work = all(step == "running" for step in view.steps)
    return ComponentStatus.RUNNING if begun and at_work else ComponentStatus.STARTING


def _is_down(task: TaskView) -> bool:
    return task.is_hung or (task.status is not None and task.status.state in ("retrying", "failed"))


def _lags(view: ComponentView) -> dict[tuple[str, int], int]:
    said = [task.status.figures.get("behind", {}) for task in view.tasks if task.status]
    placed = ((place.rpartition("/"), lag) for behind in said for place, lag in behind.items())
    return {(topic, int(partition)): lag for (topic, _, partition), lag in placed}


def _user_line(error: str) -> tuple[str, str]:
    """`file:line` of the user's code, where an error begins with it, and the rest."""
    found = _PLACE.match(error)
    return (found[1], error[found.end() :]) if found else ("", error)


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)
