"""A job as the store keeps it, and the moves that it may make.

                  +------------------------------ resume ------------------------------+
                  v                                                                     |
    submit --> CREATED --> RUNNING <--> RESTARTING --> FAILED      gave up -------------+
                  |           |             |                                           |
                  +-----------+-------------+--------> SUSPENDED   stopped -------------+
                  |           |             |                                           |
                  +-----------+-------------+--------> CANCELED    canceled ------------+
                              +----------------------> FINISHED    ended by itself -----+

`wanted` is what people asked for, `status` what is; the supervisor brings the second to the first. `attempt` counts how often anything of the
job was given to task managers; each has the number that it was given its part with, and who has another is over.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from whorl.errors import WorldError
from whorl.server.schemas import FindingSaid, JobStatus, Said, SettingSaid

_ENDS = frozenset({JobStatus.SUSPENDED, JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED})
LIVING = frozenset({JobStatus.CREATED, JobStatus.RUNNING, JobStatus.RESTARTING})
MOVES: dict[JobStatus, frozenset[JobStatus]] = {
    JobStatus.CREATED: frozenset({JobStatus.RUNNING, JobStatus.RESTARTING, *_ENDS}),
    JobStatus.RUNNING: frozenset({JobStatus.RESTARTING, *_ENDS}),
    JobStatus.RESTARTING: frozenset({JobStatus.RUNNING, *_ENDS}),
    **{end: frozenset({JobStatus.CREATED}) for end in _ENDS},
}


class Wish(StrEnum):
    """What people want of a job."""

    RUN = "run"
    SAVE = "save"
    """To stop once its savepoint is taken, which an operation sees to."""
    STOP = "stop"
    CANCEL = "cancel"


class Part(Said):
    """A component, as far as placing it is concerned."""

    id: str
    host: str
    operators: list[str] = Field(default_factory=list)
    slots: int = 1


class Inspected(Said):
    """What is known of a pipeline before it runs."""

    pipeline: str = ""
    findings: list[FindingSaid] = Field(default_factory=list)
    plan: dict[str, Any] = Field(default_factory=dict)
    parts: list[Part] = Field(default_factory=list)
    origins: list[SettingSaid] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict, description="all of them, as values; never shown")
    text: str = ""


class JobRecord(Said):
    id: str
    name: str
    pipeline: str
    file: str
    bundle: str
    settings: list[str] = Field(default_factory=list, description="assignments that were submitted with it")
    profile: str | None = Field(default=None, description="of whorl.yaml, that was submitted with it")
    known: Inspected = Field(default_factory=Inspected)
    created: float
    started: float | None = None
    ended: float | None = None
    status: JobStatus = JobStatus.CREATED
    wanted: Wish = Wish.RUN
    reason: str = ""
    attempt: int = 0
    task_managers: dict[str, list[str]] = Field(default_factory=dict, description="whom it is given to: its components")
    starts: dict[str, int] = Field(default_factory=dict, description="of each of those: the attempt that it is")
    leader: str = Field(default="", description="the one of them that is the driver")
    last_on: dict[str, str] = Field(default_factory=dict, description="component: task manager that ran it last")
    restarts: int = 0
    failures: list[float] = Field(default_factory=list, description="when, within the restart strategy's window")
    again_at: float = 0.0
    lost_at: float | None = Field(default=None, description="since when it does not run though it should")
    savepoint: str = Field(default="", description="the newest")
    resume_from: str = Field(default="", description="a savepoint that is not loaded yet")
    tasks: int | None = None
    scaled_at: float = 0.0

    @property
    def is_living(self) -> bool:
        return self.status in LIVING

    @property
    def slots(self) -> int:
        return sum(part.slots for part in self.known.parts)

    @property
    def spread(self) -> int:
        """How many task managers it would like to have. Looked at all the time while it waits."""
        return int(self.known.settings.get("task_managers", 1))

    def start_of(self, manager: str) -> int:
        return self.starts.get(manager, self.attempt)

    def is_led_by(self, manager: str) -> bool:
        """A store of before there were members has no starts."""
        return manager in self.task_managers and (manager == self.leader or not self.starts)

    @property
    def is_led(self) -> bool:
        return any(self.is_led_by(manager) for manager in self.task_managers)

    @property
    def is_placed(self) -> bool:
        """Whether all of it is given to somebody."""
        placed = {id for ids in self.task_managers.values() for id in ids}
        return self.is_led and all(part.id in placed for part in self.known.parts)

    def without(self, *managers: str) -> JobRecord:
        """What these have is nobody's."""
        left = {id: ids for id, ids in self.task_managers.items() if id not in managers}
        leader = "" if self.leader in managers else self.leader
        return self.changed(task_managers=left, starts={id: self.start_of(id) for id in left}, leader=leader)

    def moved(self, status: JobStatus, **fields: Any) -> JobRecord:
        """Refuses a move that the drawing does not have."""
        if status is not self.status and status not in MOVES[self.status]:
            raise WorldError(f"job {self.id} cannot go from {self.status} to {status}", code="job-status")
        return self.changed(status=status, **fields)

    def changed(self, **fields: Any) -> JobRecord:
        return self.model_copy(update=fields)
