"""What the job server says and takes, as typed data. REST, the web UI, the command line and task managers all speak these words.

Times are seconds since 1970, durations seconds, sizes bytes, rates records a second, shares 0 to 1. A field that nobody knows yet is None.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from whorl.masking import masked, without_secrets

Shown = Annotated[str, AfterValidator(without_secrets)]
"""Words of the world outside, of which nobody knows what they hold: secrets in them are masked."""


class JobStatus(StrEnum):
    """The life of a job:

    CREATED -> RUNNING <-> RESTARTING          waits for slots, works, or starts again after a failure
                  |            |
                  +--> SUSPENDED (stopped; `resume` goes on), FINISHED (ended by itself), FAILED (gave up), CANCELED
    """

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    SUSPENDED = "SUSPENDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    FINISHED = "FINISHED"


class ComponentStatus(StrEnum):
    WAITING = "WAITING"
    """For a task manager, or for its turn."""
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    LOST = "LOST"
    """Nothing was heard of it for three heartbeats."""


class Health(StrEnum):
    """Worst last: a job is as well as its worst component."""

    OK = "ok"
    STARTING = "starting"
    DEGRADED = "degraded"
    FAILED = "failed"
    NONE = "none"
    """It does not run, and is not meant to."""


class Said(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Said):
    """RFC 9457, with the code and hint of the command line."""

    type: str = "about:blank"
    title: str
    status: int
    detail: Shown
    code: str
    hint: str = ""
    findings: list[FindingSaid] = Field(default_factory=list, description="of a pipeline that is wrong: all of them")


class FindingSaid(Said):
    code: str
    message: Shown
    hint: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None


class Failure(Said):
    """One failure of a component, with the user's own line first where there is one."""

    at: float
    component: str
    error: Shown
    where: str = Field(default="", description="file:line of the user's code, or topic/partition/offset")
    code: str = ""
    hint: str = ""
    trace: Shown = ""
    task: int | None = None
    lps: list[int] = Field(default_factory=list)
    host: str = ""
    pid: int | None = None
    task_manager: str = ""


class Component(Said):
    id: str
    host: str = Field(description="tasks or query")
    status: ComponentStatus
    health: Health
    task_manager: str = Field(default="", description="where it runs")
    since: float | None = None
    operators: list[str] = Field(default_factory=list)
    tasks: int = 0
    logical_partitions: int = 0
    layout: int | None = None
    read: int = Field(default=0, description="records since its start")
    written: int = 0
    dead: int = Field(default=0, description="dead letters since its start")
    rate_in: float | None = None
    rate_out: float | None = None
    lag: int | None = Field(default=None, description="records that wait")
    busy: float | None = Field(default=None, description="share of its time at work")
    state_keys: int | None = Field(
        default=None, description="entries kept: values, entries of maps, timers; of queries rows"
    )
    state_bytes: int | None = Field(default=None, description="that it takes where it is kept")
    batch_ms: float | None = Field(default=None, description="a commit's or a batch's time, milliseconds")
    latency_ms: dict[str, float] = Field(default_factory=dict, description="p50, p95, p99: record timestamp to commit")
    watermark: float | None = Field(default=None, description="event time that has come")
    step: str = Field(default="", description="what it does now: restoring, running, ...")
    failures: int = 0
    last_error: Shown = ""


class Partition(Said):
    """A logical partition, or a partition of a query's source: where it is, and how it has fared."""

    component: str
    lp: int
    task: int | None = None
    host: str = ""
    pid: int | None = None
    lag: int | None = None
    failures: int = 0
    last_failure: Failure | None = None


class Offset(Said):
    """A topic partition that a component reads."""

    component: str
    group: str
    topic: str
    partition: int
    earliest: int | None = None
    committed: int | None = None
    latest: int | None = None
    lag: int | None = None


class Report(Said):
    """A job, or some of its components, as the task manager that runs them sees it. It goes with every heartbeat."""

    at: float
    uid: str = ""
    spark_ui: str = ""
    components: list[Component] = Field(default_factory=list)
    partitions: list[Partition] = Field(default_factory=list)
    offsets: list[Offset] = Field(default_factory=list)
    failures: list[Failure] = Field(default_factory=list, description="new ones since the last report that arrived")
    notices: list[str] = Field(default_factory=list)


class Job(Said):
    id: str
    name: str
    pipeline: str
    status: JobStatus
    health: Health
    reason: Shown = Field(default="", description="what it waits for, or why it failed")
    created: float
    started: float | None = None
    ended: float | None = None
    restarts: int = 0
    tasks: int | None = Field(default=None, description="of each component, where rescale said so")
    slots: int = Field(default=0, description="that it needs")
    task_managers: list[str] = Field(default_factory=list)
    savepoint: str = Field(default="", description="the newest, which resume takes")
    rate_in: float | None = None
    rate_out: float | None = None
    lag: int | None = None
    busy: float | None = None
    state_bytes: int | None = None
    batch_ms: float | None = None


class JobList(Said):
    jobs: list[Job]


class JobDetail(Job):
    file: str = Field(description="the pipeline file, as submitted")
    text: str = Field(description="what it says; secrets are masked")
    settings: list[SettingSaid] = Field(default_factory=list)
    components: list[Component] = Field(default_factory=list)
    spark_ui: str = ""
    notices: list[str] = Field(default_factory=list)


class SettingSaid(Said):
    name: str
    value: Any
    where: str = Field(description="default, file:line:column or --set")

    @field_validator("value")
    @classmethod
    def _masked(cls, value: Any, known: ValidationInfo) -> Any:
        return masked(known.data.get("name", ""), value)


class Sample(Said):
    """One moment of a job's past, for charts."""

    at: float
    rate_in: float = 0.0
    rate_out: float = 0.0
    lag: int = 0
    busy: float = 0.0
    batch_ms: float = 0.0


class SavepointSaid(Said):
    name: str
    folder: str
    at: float
    entries: int = 0
    records: int = 0
    bytes: int = 0


class CheckpointSaid(Said):
    """The newest commit of a component of tasks, or the checkpoint of a query."""

    component: str
    kind: str = Field(description="commit or checkpoint")
    number: int | None = None
    at: float | None = None
    ms: float | None = None
    where: str = ""


class Checkpoints(Said):
    checkpoints: list[CheckpointSaid]
    savepoints: list[SavepointSaid]


class LogLine(Said):
    number: int
    at: float
    level: str
    message: Shown
    component: str = ""
    batch: int | None = None
    task_manager: str = ""


class AdviceSaid(Said):
    """What could be better in how a job runs, as `whorl feedback` tells it."""

    rule: str
    component: str
    finding: str
    evidence: str
    setting: str
    change: str


class StateEntry(Said):
    operator: str
    key: Any
    value: Any
    lp: int | None = None
    position: int | None = None


class TableName(Said):
    """A topic of a job that holds the newest row of each key."""

    topic: str
    job: str
    pipeline: str
    columns: dict[str, str] = {}


class TablePage(Said):
    """Some rows of a table as it is now."""

    topic: str
    total: int
    offset: int = 0
    rows: list[StateEntry]


class OperationStatus(StrEnum):
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


class Operation(Said):
    """A stop, savepoint, resume or rescale: begun at once, done later. `GET /jobs/{id}/operations/{operation}` tells."""

    id: str
    job: str
    kind: str
    status: OperationStatus
    begun: float
    ended: float | None = None
    result: dict[str, Any] = Field(default_factory=dict)
    problem: Problem | None = None


class TaskManagerSaid(Said):
    id: str
    host: str
    pid: int
    slots: int
    status: str = Field(description="idle, busy, lost or leaving")
    job: str = ""
    components: list[str] = Field(default_factory=list)
    since: float
    heartbeat_age: float
    load: float = Field(default=0.0, description="share of a core that it takes")
    local: bool = Field(default=True, description="started by the server")


Problem.model_rebuild()
JobDetail.model_rebuild()
