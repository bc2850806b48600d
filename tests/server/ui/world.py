"""A job server in which much happens and nothing runs: figures that move, failures, savepoints, logs. What browser tests look at, and what
the pages are made against: `.venv/bin/python -m tests.server.ui.world [PORT]`.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from tests.server.fake import FakeServer

from whorl.errors import WorldError
from whorl.server.access import OPEN, Access
from whorl.server.api import make_api
from whorl.server.bundles import Submission
from whorl.server.schemas import (
    AdviceSaid,
    Checkpoints,
    CheckpointSaid,
    Component,
    ComponentStatus,
    Failure,
    Health,
    Job,
    JobDetail,
    JobStatus,
    LogLine,
    Offset,
    Partition,
    Sample,
    SavepointSaid,
    SettingSaid,
    StateEntry,
    TableName,
    TablePage,
    TaskManagerSaid,
)

EXAMPLES = Path(__file__).parents[3] / "examples"
RATE = 1240.0
LPS = 12
_TRACE = """Traceback (most recent call last):
  File "judging.py", line 14, in judge
    score = weights[row["country"]] * float(row["euros"])
KeyError: 'XB'"""


class World(FakeServer):
    """Time moves everything."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = time.time() - 900
        self.saved: dict[str, list[SavepointSaid]] = {}
        self.refuse: dict[str, WorldError] = {}
        """By act: what it is answered with."""

    @property
    def age(self) -> float:
        return time.time() - self.begun

    def example(self, name: str, **fields: Any) -> Job:
        """One of the examples, as a job that is in this condition."""
        files = {
            path.name: path.read_bytes() for path in (EXAMPLES / name).glob("*") if path.suffix in (".yaml", ".py")
        }
        job = self.submit(Submission("pipeline.yaml", files))
        components = [self._well(each, index) for index, each in enumerate(self.kept[job.id].components)]
        settings = [
            SettingSaid(name="tasks", value=2, where="pipeline.yaml:32:3"),
            SettingSaid(name="commit_interval", value="100ms", where="default"),
            SettingSaid(name="broker", value="127.0.0.1:9092", where="--set"),
            SettingSaid(name="kafka", value={"sasl.password": "***"}, where="whorl.yaml:4:3"),
            SettingSaid(name="guarantee", value="exactly_once", where="default"),
            SettingSaid(name="autoscale", value=None, where="default"),
        ]
        started = {"created": self.begun - 4, "started": self.begun, "settings": settings, "components": components}
        self._set(self.kept[job.id], **{**started, **fields})
        return self.job(job.id)

    def many(self, count: int) -> None:
        statuses = [JobStatus.RUNNING] * 6 + [
            JobStatus.SUSPENDED,
            JobStatus.FAILED,
            JobStatus.CREATED,
            JobStatus.FINISHED,
        ]
        model = next(iter(self.kept.values()))
        for number in range(count):
            status = statuses[number % len(statuses)]
            self.kept[f"many{number:04}"] = model.model_copy(update=_one_of_many(number, status))

    def _well(self, component: Component, index: int) -> Component:
        where = "judging.py:14" if index == 1 else ""
        fields = {
            "since": self.begun,
            "layout": 3,
            "step": "running",
            "logical_partitions": LPS,
            "failures": 5 if where else 0,
        }
        failed = {"last_error": "KeyError: 'XB'", "health": Health.DEGRADED} if where else {}
        return component.model_copy(update={**fields, **failed, "watermark": self.begun})

    # -- what moves -------------------------------------------------------------------------------------------------------------------

    def components(self, id: str) -> list[Component]:
        job = self.job(id)
        if job.status is not JobStatus.RUNNING:
            stopped = {
                "status": ComponentStatus.STOPPED,
                "health": Health.NONE,
                "rate_in": None,
                "rate_out": None,
                "busy": None,
            }
            return [each.model_copy(update=stopped) for each in job.components]
        return [each.model_copy(update=self._moving(index)) for index, each in enumerate(job.components)]

    def _moving(self, index: int) -> dict[str, Any]:
        swing = math.sin(self.age / 7 + index)
        return {
            "rate_in": RATE * (1 + 0.1 * swing),
            "rate_out": RATE * (0.95 + 0.1 * swing),
            "busy": 0.35 + 0.2 * index + 0.1 * swing,
            "lag": int(40 + 35 * swing) * (index + 1),
            "read": int(RATE * self.age),
            "written": int(RATE * 0.95 * self.age),
            "state_keys": 48_211,
            "state_bytes": 7_340_032,
            "batch_ms": 100 + 20 * swing,
        }

    def offsets(self, id: str) -> list[Offset]:
        plan, running = self.plan(id), self.job(id).status is JobStatus.RUNNING
        read = [(each, topic) for each in plan["components"] for input in each["inputs"] for topic in input["topics"]]
        return [self._offset(each, topic, partition, running) for each, topic in read for partition in range(4)]

    def _offset(self, component: dict[str, Any], topic: str, partition: int, running: bool) -> Offset:
        latest = int(RATE / 4 * self.age) if running else 300_000
        lag = (partition * 7 + int(self.age)) % 40
        at: dict[str, Any] = {"earliest": 0, "committed": latest - lag, "latest": latest, "lag": lag}
        return Offset(component=component["id"], group=component["group"], topic=topic, partition=partition, **at)

    def partitions(self, id: str) -> list[Partition]:
        failures = self.exceptions(id)
        return [self._partition(each, lp, failures) for each in self.components(id) for lp in range(LPS)]

    def _partition(self, component: Component, lp: int, failures: list[Failure]) -> Partition:
        own = [each for each in failures if each.component == component.id and lp in each.lps]
        where: dict[str, Any] = {"task": lp % 2, "host": "worker-1", "pid": 4711 + lp % 2}
        last = max(own, key=lambda each: each.at, default=None)
        return Partition(
            component=component.id, lp=lp, lag=(lp * 13) % 37, failures=len(own), last_failure=last, **where
        )

    def exceptions(self, id: str) -> list[Failure]:
        components = [each.id for each in self.job(id).components]
        if len(components) < 2:
            return []
        common: dict[str, Any] = {"component": components[1], "host": "worker-1", "pid": 4712, "task_manager": "tm-1"}
        often = [
            Failure(
                at=self.begun + 60 * n, error="KeyError: 'XB'", where="judging.py:14", trace=_TRACE, code="operator-failed",
                hint="fix the function, or send such records to the dead letters with on_error", task=1, lps=[3], **common,
            )
            for n in range(4)
        ]  # fmt: skip
        other = Failure(
            at=self.begun + 400, error="the broker did not answer in 30 s", code="broker", lps=[3, 7], **common
        )
        return [*often, other]

    def feedback(self, id: str) -> list[AdviceSaid]:
        if self.job(id).name == "assembly":
            hint = "it tells how it does while it runs, and that is kept for an hour"
            raise WorldError("nothing is known of how 'assembly' has run", hint=hint, code="no-history")
        if self.job(id).name != "payments":
            return []
        seen = "lag went from 12 to 4,310 records in 5 min, 14 more a second"
        change = "raise it, up to the number of partitions, or make operators that take long 'isolate: true'"
        return [
            AdviceSaid(rule="lag-grows", component="judge", finding="it reads more slowly than records arrive", evidence=seen, setting="tasks", change=change),
            AdviceSaid(rule="memory", component="", finding="the driver's memory is close to its limit", evidence="91 % of the heap in use", setting="resources.driver_memory", change="raise it"),
        ]  # fmt: skip

    def checkpoints(self, id: str) -> Checkpoints:
        job = self.job(id)
        commits = [
            CheckpointSaid(
                component=each.id,
                kind="commit" if each.host == "tasks" else "checkpoint",
                number=int(self.age * 10),
                at=time.time() - 0.3,
                ms=each.batch_ms,
                where=f"layout 3 of {each.id}"
                if each.host == "tasks"
                else f".whorl/checkpoints/{job.pipeline}/{each.id}",
            )
            for each in job.components
        ]
        return Checkpoints(checkpoints=commits, savepoints=self.saved.get(job.id, []))

    def history(self, id: str) -> list[Sample]:
        self.job(id)
        times = [self.begun + 5 * n for n in range(int(self.age / 5))]
        return [_sample(at) for at in times]

    def state(self, id: str, operator: str, key: str | None = None, limit: int = 100) -> list[StateEntry]:
        if key == "nobody":
            raise WorldError(f"'{operator}' keeps nothing for 'nobody'", code="state-key")
        keys = [key] if key else [f"acc-{n:03}" for n in range(3)]
        super().state(id, operator, key, limit)
        value = {"payments": int(self.age), "euros": "2417.96", "blocked": 1, "latest": "2026-01-01T09:04:00Z"}
        return [
            StateEntry(operator=operator, key=each, value=value, lp=3, position=int(self.age * 10)) for each in keys
        ]

    def tables(self) -> list[TableName]:
        columns = {"page": "string", "views": "long", "millis": "double", "paid": "double", "latest": "timestamp"}
        return [TableName(topic="pages", job="job0001", pipeline="dashboard", columns=columns)]

    def table_page(self, topic: str, limit: int, offset: int = 0, sort: str = "") -> TablePage:
        if topic not in ("pages", "many", "plain", "empty"):
            raise WorldError(f"there is no topic '{topic}'", code="no-topic")
        names = {
            "pages": ["home", "product", "search", "basket", "checkout"],
            "many": [f"k{n}" for n in range(500)],
            "plain": ["a", "b"],
            "empty": [],
        }[topic]
        rows = [StateEntry(operator=topic, key=key, value=self._row(topic, key, n)) for n, key in enumerate(names)]
        if column := sort.removeprefix("-"):
            rows.sort(key=lambda row: row.value[column], reverse=sort.startswith("-"))
        return TablePage(topic=topic, total=len(rows), offset=offset, rows=rows[offset : offset + limit])

    def _row(self, topic: str, key: str, number: int) -> Any:
        if topic == "plain":
            return f"<b>{key}</b>"
        share = 1 / (number + 1)
        views, latest = int(RATE * share * self.age), "2026-03-01T09:04:00Z"
        return {"page": key, "views": views, "millis": 100.5 + number * 60, "paid": 4200 * number, "latest": latest}

    def task_managers(self) -> list[TaskManagerSaid]:
        jobs = [job for job in self.kept.values() if job.status is JobStatus.RUNNING][:2]
        return [
            *(_manager(f"tm-{n}", "busy", job, load=0.4 + 0.3 * n) for n, job in enumerate(jobs, 1)),
            _manager("tm-8", "idle", None),
            _manager("tm-9", "lost", None, heartbeat_age=14.2, host="worker-2", local=False),
        ]

    # -- acts -------------------------------------------------------------------------------------------------------------------------

    def savepoint(self, id: str, name: str | None = None) -> Any:
        if "savepoint" in self.refuse:
            raise self.refuse["savepoint"]
        job, taken = self.job(id), name or time.strftime("%Y%m%d-%H%M%S")
        saved = SavepointSaid(name=taken, folder=f".whorl/savepoints/{job.pipeline}/{taken}", at=time.time(), entries=48_211, records=3, bytes=7_340_032)  # fmt: skip
        self.saved.setdefault(job.id, []).append(saved)
        self._set(self.kept[job.id], savepoint=taken)
        return super().savepoint(id, taken)

    def rescale(self, id: str, tasks: int = 0, partitions: int = 0, dry_run: bool = False) -> Any:
        if tasks > 64:
            raise WorldError(
                f"{tasks} tasks need {tasks} slots, there are 8", hint="start more task managers", code="slots"
            )
        if not dry_run:
            self._set(self.job(id), tasks=tasks or None)
        return super().rescale(id, tasks, partitions, dry_run)


def _one_of_many(number: int, status: JobStatus) -> dict[str, Any]:
    health = {JobStatus.RUNNING: Health.OK, JobStatus.FAILED: Health.FAILED, JobStatus.CREATED: Health.STARTING}
    reason = {JobStatus.FAILED: "gave up after 5 attempts: ValueError: no rate for 'XBT' (rates.py:31)", JobStatus.CREATED: "waits for 2 slots; 1 is free"}  # fmt: skip
    runs = status is JobStatus.RUNNING
    figures = {
        "rate_in": 900.0 + 37 * number,
        "rate_out": 850.0 + 37 * number,
        "lag": number * 11 % 300,
        "busy": number * 7 % 100 / 100,
    }
    return {
        "id": f"many{number:04}",
        "name": f"feed-{number:03}",
        "pipeline": f"feed-{number:03}",
        "status": status,
        "health": health.get(status, Health.NONE),
        "reason": reason.get(status, ""),
        "created": time.time() - 60 * number,
        **(figures if runs else dict.fromkeys(figures)),
    }


def _sample(at: float) -> Sample:
    swing = math.sin(at / 40) + 0.3 * math.sin(at / 9)
    return Sample(
        at=at,
        rate_in=RATE * (1 + 0.1 * swing),
        rate_out=RATE * (0.93 + 0.1 * swing),
        lag=max(0, int(60 + 55 * swing)),
        busy=0.5 + 0.2 * swing,
        batch_ms=100 + 22 * swing,
    )


def _manager(id: str, status: str, job: JobDetail | None, **also: Any) -> TaskManagerSaid:
    fields: dict[str, Any] = {"host": "127.0.0.1", "pid": 4000 + len(id), "heartbeat_age": 0.4, **also}
    held = {"job": job.id, "components": [each.id for each in job.components]} if job else {}
    return TaskManagerSaid(id=id, status=status, slots=4, since=time.time() - 3600, **fields, **held)


def furnished() -> World:
    """With two examples that run, one that failed, one that waits and one that was stopped."""
    world = World()
    world.example("payments", health=Health.DEGRADED)
    world.example("graphstream")
    world.example("assembly")
    reason = "gave up after 5 attempts: KeyError: 'moss' (advice.py:7)"
    world.example(
        "greenhouse", status=JobStatus.FAILED, health=Health.FAILED, reason=reason, restarts=5, ended=time.time() - 40
    )
    world.example(
        "cards", status=JobStatus.SUSPENDED, health=Health.NONE, savepoint="before-noon", ended=time.time() - 7200
    )
    for id, job in world.kept.items():
        moving = job.status is JobStatus.RUNNING
        figures = {
            "rate_in": RATE,
            "rate_out": RATE * 0.95,
            "lag": 61,
            "busy": 0.46,
            "state_bytes": 7_340_032,
            "batch_ms": 104.0,
        }
        world.kept[id] = job.model_copy(update=figures if moving else dict.fromkeys(figures))
        world.savepoint(id, "before-noon")
        world.lines[id] = [_line(n) for n in range(1, 160)]
    return world


def _line(number: int) -> LogLine:
    level = "error" if number % 40 == 0 else "warning" if number % 15 == 0 else "info"
    told = {"error": "KeyError: 'XB' at judging.py:14; the component starts again in 2 s", "warning": "lag of 'payments' grew to 312 records", "info": f"commit {number}: 124 records, 98 ms"}  # fmt: skip
    at = time.time() - 160 + number
    return LogLine(
        number=number, at=at, level=level, message=told[level], component="judge", batch=number, task_manager="tm-1"
    )


def app(world: World, access: Access = OPEN) -> Any:
    return make_api(world, access)


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8090
    uvicorn.run(app(furnished()), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
