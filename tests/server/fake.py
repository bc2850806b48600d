"""A job server that keeps its jobs in a dict and runs nothing: what REST, UI and command line are tested against."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from whorl.config.loader import load
from whorl.errors import CheckFailed, Location, WorldError
from whorl.flow.check import checked, examine
from whorl.plan.planner import make_plan
from whorl.plan.structured import as_json
from whorl.server.bundles import Submission
from whorl.server.orders import Beat, Hello, Orders, Welcome
from whorl.server.problems import problem_of, said
from whorl.server.schemas import (
    AdviceSaid,
    Checkpoints,
    CheckpointSaid,
    Component,
    ComponentStatus,
    Failure,
    FindingSaid,
    Health,
    Job,
    JobDetail,
    JobStatus,
    LogLine,
    Offset,
    Operation,
    OperationStatus,
    Partition,
    Sample,
    SavepointSaid,
    StateEntry,
    TableName,
    TablePage,
    TaskManagerSaid,
)
from whorl.server.service import JobServer

PIPELINE = """
name: {name}
sources:
  numbers: {{type: kafka, topic: numbers, key: k, schema: {{k: string, n: long}}}}
operators:
  - {{id: big, type: filter, where: n > 10}}
  - {{id: total, type: sum, of: n, from: big, key: k}}
sinks:
  totals: {{type: kafka, topic: totals, from: total}}
"""


def submission(name: str = "totals") -> Submission:
    return Submission("pipeline.yaml", {"pipeline.yaml": PIPELINE.format(name=name).encode()})


class FakeServer(JobServer):
    def __init__(self) -> None:
        self.kept: dict[str, JobDetail] = {}
        self.plans: dict[str, dict[str, Any]] = {}
        self.operations: dict[str, Operation] = {}
        self.lines: dict[str, list[LogLine]] = {}
        self.missing: list[str] = []
        self.fails: tuple[str, str, str] | None = None
        """How operations fail: code, message, hint."""
        self.takes = 0.0
        """Seconds that an operation takes."""

    def submit(
        self,
        upload: Submission,
        name: str | None = None,
        settings: tuple[str, ...] = (),
        profile: str | None = None,
    ) -> Job:
        loaded, plan = _loaded(upload, settings, profile)
        pipeline = loaded.spec.name
        if any(job.pipeline == pipeline and job.status is JobStatus.RUNNING for job in self.kept.values()):
            raise WorldError(f"pipeline '{pipeline}' runs already", hint="stop it first", code="already-running")
        id = f"job{len(self.kept) + 1:04d}"
        components = [
            Component(
                id=each["id"],
                host=each["host"],
                status=ComponentStatus.RUNNING,
                health=Health.OK,
                task_manager="tm-1",
                tasks=2,
                logical_partitions=4,
                operators=[operator["id"] for operator in each["operators"]],
                read=1000,
                written=990,
                rate_in=100.0,
                rate_out=99.0,
                lag=12,
                busy=0.25,
                state_keys=10,
                state_bytes=2048,
                batch_ms=7.5,
                latency_ms={"p50": 5.0, "p95": 9.0, "p99": 12.0},
            )
            for each in plan["components"]
        ]
        text = upload.files[upload.file].decode(errors="replace")
        job = JobDetail(
            id=id,
            name=name or pipeline,
            pipeline=pipeline,
            status=JobStatus.RUNNING,
            health=Health.OK,
            created=time.time(),
            started=time.time(),
            slots=2,
            task_managers=["tm-1"],
            rate_in=100.0,
            rate_out=99.0,
            lag=12,
            busy=0.25,
            state_bytes=2048,
            batch_ms=7.5,
            file=upload.file,
            text=text,
            components=components,
        )
        self.kept[id], self.plans[id] = job, plan
        message = f"started '{pipeline}'"
        self.lines[id] = [LogLine(number=1, at=time.time(), level="info", message=message, component=components[0].id)]
        return Job.model_validate(job.model_dump(include=set(Job.model_fields)))

    def check(self, upload: Submission, profile: str | None = None) -> list[FindingSaid]:
        try:
            _loaded(upload, (), profile)
        except CheckFailed as error:
            return said(error.findings)
        return []

    def jobs(self) -> list[Job]:
        return [Job.model_construct(**{f: getattr(job, f) for f in Job.model_fields}) for job in self.kept.values()]

    def job(self, id: str) -> JobDetail:
        found = [job for job in self.kept.values() if id in (job.id, job.pipeline)]
        if not found:
            raise WorldError(f"there is no job '{id}'", hint="'whorl jobs' lists them", code="no-job")
        return found[-1]

    def plan(self, id: str) -> dict[str, Any]:
        return self.plans[self.job(id).id]

    def components(self, id: str) -> list[Component]:
        return self.job(id).components

    def partitions(self, id: str) -> list[Partition]:
        return [
            Partition(component=each.id, lp=lp, task=lp % 2, lag=3) for each in self.components(id) for lp in range(4)
        ]

    def offsets(self, id: str) -> list[Offset]:
        component = self.components(id)[0].id
        return [
            Offset(
                component=component, group="g", topic="numbers", partition=p, earliest=0, committed=7, latest=10, lag=3
            )
            for p in range(4)
        ]

    def checkpoints(self, id: str) -> Checkpoints:
        name = self.job(id).savepoint
        saved = [SavepointSaid(name=name, folder=f".whorl/savepoints/{name}", at=time.time())] if name else []
        commits = [CheckpointSaid(component=each.id, kind="commit", number=3) for each in self.components(id)]
        return Checkpoints(checkpoints=commits, savepoints=saved)

    def exceptions(self, id: str) -> list[Failure]:
        component = self.components(id)[0].id
        return [Failure(at=time.time(), component=component, error="ValueError: no", where="steps.py:3", lps=[1])]

    def feedback(self, id: str) -> list[AdviceSaid]:
        component = self.components(id)[0].id
        return [AdviceSaid(rule="lag-grows", component=component, finding="it is slow", evidence="lag went up", setting="tasks", change="raise it")]  # fmt: skip

    def history(self, id: str) -> list[Sample]:
        self.job(id)
        return [Sample(at=time.time() - back, rate_in=100.0, lag=12) for back in range(60, 0, -1)]

    def logs(self, id: str, after: int = 0, limit: int = 1000) -> list[LogLine]:
        return [line for line in self.lines[self.job(id).id] if line.number > after][:limit]

    def stop(self, id: str, savepoint: bool = True, name: str | None = None, timeout: float | None = None) -> Operation:
        job = self._running(id)
        self._set(job, status=JobStatus.SUSPENDED, health=Health.NONE, savepoint=(name or "now") if savepoint else "")
        return self._done(job, "stop", {"status": "SUSPENDED", **({"savepoint": _saved(name)} if savepoint else {})})

    def cancel(self, id: str) -> Operation:
        job = self._running(id)
        self._set(job, status=JobStatus.CANCELED, health=Health.NONE)
        return self._done(job, "cancel", {})

    def resume(self, id: str, savepoint: str | None = None) -> Operation:
        job = self.job(id)
        if job.status is JobStatus.RUNNING:
            raise WorldError(f"job '{id}' runs already", hint="stop it first", code="already-running")
        self._set(job, status=JobStatus.RUNNING, health=Health.OK)
        return self._done(job, "resume", {"savepoint": savepoint or job.savepoint})

    def savepoint(self, id: str, name: str | None = None) -> Operation:
        return self._done(self.job(id), "savepoint", _saved(name))

    def rescale(self, id: str, tasks: int = 0, partitions: int = 0, dry_run: bool = False) -> Operation:
        job = self.job(id)
        scales = {each.id: {"tasks": [2, tasks or 2], "partitions": [4, partitions or 4]} for each in job.components}
        return self._done(job, "rescale", {"components": scales, "entries": 10, "seconds": 0.5})

    def restart_component(self, id: str, component: str) -> Operation:
        job = self._running(id)
        if component not in [each.id for each in job.components]:
            raise WorldError(f"job '{id}' has no component '{component}'", code="no-component")
        return self._done(job, "restart", {})

    def delete(self, id: str) -> None:
        job = self.job(id)
        if job.status is JobStatus.RUNNING:
            raise WorldError(f"job '{id}' runs", hint="stop or cancel it first", code="job-status")
        del self.kept[job.id]

    def operation(self, id: str, operation: str) -> Operation:
        job, found = self.job(id), self.operations.get(operation)
        if found is None or found.job != job.id:
            raise WorldError(f"job '{id}' has no operation '{operation}'", code="no-operation")
        if time.time() - found.begun < self.takes:
            return found.model_copy(update={"status": OperationStatus.RUNNING, "ended": None, "result": {}})
        return found

    def state(self, id: str, operator: str, key: str | None = None, limit: int = 100) -> list[StateEntry]:
        if not any(operator in each.operators for each in self.components(id)):
            raise WorldError(f"job '{id}' has no operator '{operator}'", code="state-operator")
        return [StateEntry(operator=operator, key=key or "a", value={"sum": 42}, lp=1)]

    def table(self, topic: str, key: str) -> StateEntry:
        if topic != "prices":
            raise WorldError(f"there is no topic '{topic}'", code="no-topic")
        return StateEntry(operator=topic, key=key, value={"price": 3})

    def tables(self) -> list[TableName]:
        return [TableName(topic="prices", job="job0001", pipeline="shop", columns={"price": "long"})]

    def table_page(self, topic: str, limit: int, offset: int = 0, sort: str = "") -> TablePage:
        rows = [self.table(topic, key) for key in ("apple", "pear", "plum")]
        return TablePage(topic=topic, total=len(rows), offset=offset, rows=rows[offset : offset + limit])

    def task_managers(self) -> list[TaskManagerSaid]:
        return [
            TaskManagerSaid(
                id="tm-1", host="127.0.0.1", pid=7, slots=4, status="idle", since=time.time(), heartbeat_age=0.2
            )
        ]

    def join(self, hello: Hello) -> Welcome:
        return Welcome(heartbeat=1.0, id=hello.id)

    def heartbeat(self, id: str, beat: Beat) -> Orders:
        return Orders(known=False)

    def bundle(self, job: str) -> bytes:
        self.job(job)
        return submission().pack()

    def leave(self, id: str) -> None:
        return

    def not_ready(self) -> list[str]:
        return self.missing

    def log(self, id: str, message: str) -> None:
        lines = self.lines[self.job(id).id]
        lines.append(LogLine(number=len(lines) + 1, at=time.time(), level="info", message=message))

    def _running(self, id: str) -> JobDetail:
        job = self.job(id)
        if job.status is not JobStatus.RUNNING:
            raise WorldError(f"job '{id}' does not run", hint="'whorl resume' starts it", code="not-running")
        return job

    def _set(self, job: JobDetail, **fields: Any) -> None:
        self.kept[job.id] = job.model_copy(update=fields)

    def _done(self, job: Job, kind: str, result: dict[str, Any]) -> Operation:
        id, now = f"op{len(self.operations) + 1}", time.time()
        done = Operation(id=id, job=job.id, kind=kind, status=OperationStatus.DONE, begun=now, ended=now, result=result)
        if self.fails:
            code, message, hint = self.fails
            problem = problem_of(WorldError(message, hint=hint, code=code))
            done = done.model_copy(update={"status": OperationStatus.FAILED, "problem": problem, "result": {}})
        self.operations[id] = done
        return self.operation(job.id, id)


def _saved(name: str | None) -> dict[str, Any]:
    name = name or "now"
    folder = f".whorl/savepoints/totals/{name}"
    return {"name": name, "folder": folder, "components": 1, "entries": 10, "records": 0, "bytes": 2048, "seconds": 0.5}


def _loaded(upload: Submission, settings: tuple[str, ...], profile: str | None) -> tuple[Any, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for path, data in upload.files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_bytes(data)
        loaded = load(Path(folder) / upload.file, profile=profile, overrides=settings)
        if findings := examine(loaded)[1]:
            raise CheckFailed(replace(each, at=_relative(each.at, folder)) for each in findings)
        return loaded, json.loads(as_json(make_plan(checked(loaded), loaded.settings)))


def _relative(at: Location | None, folder: str) -> Location | None:
    return replace(at, file=at.file.removeprefix(f"{folder}/")) if at else None
