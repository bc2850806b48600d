"""The job server as one object. REST, the web UI and tests call it; it knows nothing of HTTP.

A job is meant by its id or by its pipeline's name, everywhere. What it cannot do it says by raising a WhorlError.
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from whorl.config.settings import Settings
from whorl.errors import CheckFailed, Finding, Location, Superseded, Unavailable, UsageError, WorldError
from whorl.jobs.address import broker_address
from whorl.server import pipelines
from whorl.server.acts import Acts
from whorl.server.advising import Adviser
from whorl.server.bundles import Bundles, Submission
from whorl.server.election import Election
from whorl.server.inspection import inspect
from whorl.server.joblog import JobLogs
from whorl.server.local import LocalManagers
from whorl.server.operations import Operations
from whorl.server.orders import Beat, Hello, Orders, Welcome
from whorl.server.records import Inspected, JobRecord
from whorl.server.samples import Samples
from whorl.server.schemas import (
    AdviceSaid,
    Checkpoints,
    Component,
    Failure,
    FindingSaid,
    Job,
    JobDetail,
    LogLine,
    Offset,
    Operation,
    Partition,
    Report,
    Sample,
    StateEntry,
    TableName,
    TablePage,
    TaskManagerSaid,
)
from whorl.server.store import Store
from whorl.server.supervisor import Supervisor
from whorl.server.tables import Tables
from whorl.server.views import checkpoints_of, components_of, detail_of, job_of


@dataclass(frozen=True)
class ServerOptions:
    data: Path
    url: str = "http://127.0.0.1:8765"
    """Where task managers reach it."""
    broker: str | None = None
    """Of jobs that name none."""
    heartbeat: float = 1.0
    task_managers: int = 4
    """The most that it starts itself."""
    slots: int = 0
    idle_timeout: float = 60.0
    hang_timeout: float = 300.0
    extra: tuple[str, ...] = ()
    """Arguments of task managers that it starts."""
    environment: dict[str, str] = field(default_factory=dict)
    ha: str = ""
    """zookeeper://host:port/path, where several servers share the store."""
    session_timeout: float = 10.0


class JobServer:
    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        data = options.data.absolute()
        self.store = Store(data / "jobs.db")
        self._bundles, self._logs = Bundles(data / "bundles"), JobLogs(data / "logs")
        self._operations = Operations(self.store)
        self._local = LocalManagers(
            options.url, data / "taskmanagers", options.task_managers, options.slots, options.extra, options.environment
        )
        self._adviser = Adviser()
        self._tables = Tables(self.store, options.broker)
        self._samples = Samples()
        self._over = threading.Event()
        self._leads = threading.Event()
        self._thread = threading.Thread(target=self._run, name="whorl-supervisor", daemon=True)
        self._election = Election(options.ha, options.url, options.session_timeout) if options.ha else None
        self._servers: list[str] = []
        self._supervise()

    def start(self) -> JobServer:
        """Leads at once; with others, as soon as it is elected."""
        if self._election is None:
            self._lead()
        else:
            self._election.start(self._lead, self._leads.clear)
        self._thread.start()
        return self

    def _supervise(self) -> None:
        options = self.options
        times = (options.heartbeat, options.idle_timeout, options.hang_timeout)
        self.supervisor = Supervisor(self.store, self._local, self._note, *times)
        self._acts = Acts(self.supervisor, self._operations)

    def _lead(self) -> None:
        """From here on it writes the store, and sees to the jobs."""
        self.store.take()
        self._supervise()
        self._operations.close_left()
        self._leads.set()

    def close(self) -> None:
        """Jobs go on."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(10)
        if self._election is not None:
            self._election.close()
        self._operations.close()
        self._tables.close()
        self.store.close()

    def _run(self) -> None:
        every, sample_at = self.options.heartbeat / 4, 0.0
        while not self._over.wait(every):
            if not self._leads.is_set():
                continue
            self.supervisor.tick()
            if self.supervisor.is_fenced:
                self._step_down()
            elif time.monotonic() >= sample_at:
                sample_at = time.monotonic() + 1.0
                self._sample()
                self._servers = self._election.servers() if self._election else []

    def _step_down(self) -> None:
        self._leads.clear()
        if self._election is not None:
            self._election.give_up()

    def _lead_or_refuse(self) -> None:
        if self._leads.is_set():
            return
        leader = self._election.leader() if self._election else ""
        hint = f"ask {leader}" if leader else "another is being elected; ask again"
        raise Unavailable("this job server stands by", hint=hint, code="not-leader")

    def _sample(self) -> None:
        for record in self.store.jobs():
            if record.is_living and record.task_managers:
                components = self._components(record)
                self._samples.take(job_of(record, components))
                self._scale(record, components)

    def _scale(self, record: JobRecord, components: list[Component]) -> None:
        if scaling := self._samples.scaling(record, components):
            tasks, wanted = scaling
            lag = job_of(record, components).lag
            self._note(record.id, "INFO", f"autoscale: {tasks} -> {wanted} tasks, lag {lag}")
            self._acts.autoscale(record, wanted)

    def _note(self, job: str, level: str, message: str) -> None:
        self._logs.add(job, [LogLine(number=0, at=time.time(), level=level, message=message)])

    # -- jobs -------------------------------------------------------------------------------------------------------------------------

    def submit(
        self,
        upload: Submission,
        name: str | None = None,
        settings: tuple[str, ...] = (),
        profile: str | None = None,
    ) -> Job:
        """Its id is known at once and kept for ever. `settings`: assignments such as `tasks=3`."""
        self._lead_or_refuse()
        known, given = self._placed(inspect(upload, name, settings, profile), settings)
        if known.findings:
            raise CheckFailed(_finding(each) for each in known.findings)
        self._refuse_second(known.pipeline)
        pipelines.refuse_running(Settings.model_validate(known.settings), known.pipeline)
        record = JobRecord(
            id=uuid.uuid4().hex[:10],
            name=name or known.pipeline,
            pipeline=known.pipeline,
            file=upload.file,
            bundle=self._bundles.keep(upload),
            settings=given,
            profile=profile,
            known=known,
            created=time.time(),
            reason="waits for its turn",
        )
        with self.supervisor.lock:
            self._refuse_second(known.pipeline)
            self.store.add(record)
        self._note(record.id, "INFO", f"submitted as '{record.pipeline}'")
        return self._said(record)

    def _placed(self, known: Inspected, settings: tuple[str, ...]) -> tuple[Inspected, list[str]]:
        """With what must be the same wherever it runs: which broker, which folders."""
        if known.findings:
            return known, list(settings)
        own = known.settings
        fixed = {
            "broker": own["broker"] or self.options.broker or broker_address(Settings()),
            "checkpoints": pipelines.absolute(own["checkpoints"]),
            "savepoints": pipelines.absolute(own["savepoints"]),
        }
        given = [*settings, *(f"{name}={value}" for name, value in fixed.items())]
        return known.model_copy(update={"settings": {**own, **fixed}}), given

    def _refuse_second(self, pipeline: str) -> None:
        for record in self.store.jobs():
            if record.pipeline == pipeline and record.is_living:
                since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
                what = f"pipeline '{pipeline}' is job {record.id} already, {record.status} since {since}"
                hint = "stop that one first, or submit this one under another name"
                raise Superseded(what, hint=hint, code="already-running")

    def check(self, upload: Submission, profile: str | None = None) -> list[FindingSaid]:
        return inspect(upload, None, (), profile).findings

    def jobs(self) -> list[Job]:
        """Newest first."""
        self._lead_or_refuse()
        return [self._said(record) for record in reversed(self.store.jobs())]

    def job(self, id: str) -> JobDetail:
        record = self._record(id)
        return detail_of(record, self._components(record), self._reports(record))

    def plan(self, id: str) -> dict[str, Any]:
        return self._record(id).known.plan

    def components(self, id: str) -> list[Component]:
        return self._components(self._record(id))

    def partitions(self, id: str) -> list[Partition]:
        return [each for report in self._reports(self._record(id)) for each in report.partitions]

    def offsets(self, id: str) -> list[Offset]:
        return [each for report in self._reports(self._record(id)) for each in report.offsets]

    def checkpoints(self, id: str) -> Checkpoints:
        record = self._record(id)
        return Checkpoints(
            checkpoints=checkpoints_of(self._reports(record)), savepoints=pipelines.savepoints_of(record)
        )

    def exceptions(self, id: str) -> list[Failure]:
        """Newest first."""
        return self.store.failures(self._record(id).id)

    def feedback(self, id: str) -> list[AdviceSaid]:
        record = self._record(id)
        return self._adviser.of(record, partial(self._bundles.packed, record.bundle))

    def history(self, id: str) -> list[Sample]:
        return self._samples.of(self._record(id).id)

    def logs(self, id: str, after: int = 0, limit: int = 1000) -> list[LogLine]:
        """Those with a higher number than `after`, oldest first; the last ones where it is 0."""
        return self._logs.read(self._record(id).id, after, limit)

    # -- operations -------------------------------------------------------------------------------------------------------------------

    def stop(self, id: str, savepoint: bool = True, name: str | None = None, timeout: float | None = None) -> Operation:
        return self._acts.stop(self._record(id), savepoint, name, timeout)

    def cancel(self, id: str) -> Operation:
        return self._acts.cancel(self._record(id))

    def resume(self, id: str, savepoint: str | None = None) -> Operation:
        record = self._record(id)
        if not record.is_living:
            self._refuse_second(record.pipeline)
        return self._acts.resume(record, savepoint)

    def savepoint(self, id: str, name: str | None = None) -> Operation:
        return self._acts.savepoint(self._record(id), name)

    def rescale(self, id: str, tasks: int = 0, partitions: int = 0, dry_run: bool = False) -> Operation:
        if not tasks and not partitions:
            raise UsageError("neither tasks nor partitions are given", hint="say how many there are to be")
        return self._acts.rescale(self._record(id), tasks, partitions, dry_run)

    def restart_component(self, id: str, component: str) -> Operation:
        record = self._record(id)
        if component not in {part.id for part in record.known.parts}:
            known = ", ".join(part.id for part in record.known.parts)
            raise UsageError(
                f"job {record.id} has no component '{component}'", hint=f"it has {known}", code="no-component"
            )
        return self._acts.restart(record, component)

    def delete(self, id: str) -> None:
        """All that the server has of it; what is in Kafka, checkpoints and savepoints stay."""
        with self.supervisor.lock:
            record = self._record(id)
            if record.is_living:
                raise WorldError(
                    f"job {record.id} is {record.status}", hint="stop or cancel it first", code="job-status"
                )
            self.store.delete(record.id)
            if not any(each.bundle == record.bundle for each in self.store.jobs()):
                self._bundles.delete(record.bundle)
        self._logs.delete(record.id)
        self._samples.forget(record.id)
        self._adviser.forget(record.id)

    def operation(self, id: str, operation: str) -> Operation:
        found = self.store.operation(operation)
        if found is None or found.job != self._record(id).id:
            raise UsageError(f"job '{id}' has no operation '{operation}'", code="no-operation")
        return found

    def operations(self, id: str) -> list[Operation]:
        """Newest first."""
        return self.store.operations(self._record(id).id)

    def wait(self, operation: Operation, seconds: float) -> Operation:
        """As it is when it is done, or after so long."""
        return self._operations.wait(operation, seconds)

    # -- state ------------------------------------------------------------------------------------------------------------------------

    def state(self, id: str, operator: str, key: str | None = None, limit: int = 100) -> list[StateEntry]:
        return pipelines.state_of(self._record(id), operator, key, limit)

    def tables(self) -> list[TableName]:
        return self._tables.names()

    def table(self, topic: str, key: str) -> StateEntry:
        return self._tables.entry(topic, key)

    def table_page(self, topic: str, limit: int, offset: int = 0, sort: str = "") -> TablePage:
        return self._tables.page(topic, limit, offset, sort)

    # -- task managers ----------------------------------------------------------------------------------------------------------------

    def task_managers(self) -> list[TaskManagerSaid]:
        self._lead_or_refuse()
        components = {id: ids for record in self.store.jobs() for id, ids in record.task_managers.items()}
        with self.supervisor.lock:
            return self.supervisor.managers.said(self.supervisor.clock.steady(), components)

    def join(self, hello: Hello) -> Welcome:
        self._lead_or_refuse()
        return self.supervisor.join(hello)

    def heartbeat(self, id: str, beat: Beat) -> Orders:
        self._lead_or_refuse()
        if beat.job and beat.lines and self.store.job(beat.job):
            self._logs.add(beat.job, beat.lines)
        orders = self.supervisor.beat(id, beat)
        return orders.model_copy(update={"servers": self._servers}) if self._servers else orders

    def bundle(self, job: str) -> bytes:
        return self._bundles.packed(self._record(job).bundle)

    def leave(self, id: str) -> None:
        self._lead_or_refuse()
        self.supervisor.leave(id)

    def not_ready(self) -> list[str]:
        """What is missing until it can do its work; empty when it is ready."""
        if not self._leads.is_set():
            leader = self._election.leader() if self._election else ""
            return [f"it stands by; {leader or 'nobody'} leads"]
        return [self.supervisor.trouble] if self.supervisor.trouble else []

    # -- found ------------------------------------------------------------------------------------------------------------------------

    def _record(self, id: str) -> JobRecord:
        """By its id; by a pipeline's name the one that lives, else the newest."""
        self._lead_or_refuse()
        if found := self.store.job(id):
            return found
        named = [record for record in self.store.jobs() if record.pipeline == id]
        if not named:
            raise UsageError(f"there is no job '{id}'", hint="'whorl jobs' lists them", code="no-job")
        return next((record for record in named if record.is_living), named[-1])

    def _reports(self, record: JobRecord) -> list[Report]:
        with self.supervisor.lock:
            return self.supervisor.reports(record)

    def _components(self, record: JobRecord) -> list[Component]:
        with self.supervisor.lock:
            return components_of(record, self.supervisor.reports(record), self.supervisor.silent(record))

    def _said(self, record: JobRecord) -> Job:
        return job_of(record, self._components(record))


def _finding(said: FindingSaid) -> Finding:
    at = Location(said.file, said.line or 1, said.column or 1) if said.file else None
    return Finding(said.code, said.message, said.hint, at)
