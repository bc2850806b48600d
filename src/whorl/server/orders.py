"""What task managers and the server say to each other. A task manager asks, so that it may live behind any wall."""

from __future__ import annotations

from pydantic import Field

from whorl.server.schemas import LogLine, Report, Said, Shown


class Failed(Said):
    """Why a run ended."""

    error: Shown
    code: str = ""
    hint: str = ""
    where: str = ""
    trace: Shown = ""
    helps: bool = Field(default=True, description="whether starting it again may help")


class Run(Said):
    """A job to run, or that runs. `attempt` counts up each time the job is given to task managers: older ones are over."""

    job: str
    attempt: int
    pipeline: str = ""
    file: str = ""
    bundle: str = ""
    settings: list[str] = Field(default_factory=list, description="name=value")
    profile: str | None = Field(default=None, description="of whorl.yaml")
    savepoint: str = Field(default="", description="that it is to go on from")
    seat: str = Field(
        default="", description="of a member, which takes what the job's driver gives it; none: it is the driver"
    )
    elsewhere: dict[str, str] = Field(
        default_factory=dict, description="components that members have: their seats; empty, while nobody has them"
    )
    adopts: list[str] = Field(default_factory=list, description="those of them that are at work already")


class Hello(Said):
    id: str
    host: str
    pid: int
    slots: int
    local: bool = False
    since: float
    run: Run | None = Field(default=None, description="what it runs already")


class Welcome(Said):
    heartbeat: float
    id: str


class Ended(Said):
    how: str = Field(description="stopped, finished, failed, left (its task manager is to end), dropped or superseded")
    failed: Failed | None = None


class Beat(Said):
    job: str = ""
    attempt: int = 0
    report: Report | None = None
    restored: bool = Field(default=False, description="the savepoint is loaded; it awaits that this is taken")
    ended: Ended | None = None
    lines: list[LogLine] = Field(default_factory=list)
    load: float = 0.0
    stalled: float = Field(default=0.0, description="seconds that its work has not moved, though it should")


class Orders(Said):
    """The answer to a heartbeat."""

    known: bool = Field(default=True, description="false: say hello again")
    run: Run | None = None
    end: str = Field(default="", description="what it runs is to end: stop (gracefully) or drop (at once)")
    servers: list[str] = Field(default_factory=list, description="where else to ask, if there are several")
    leave: bool = Field(default=False, description="end the process")
    taken: bool = Field(default=False, description="what it told and waits for is in the store")
