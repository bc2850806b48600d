"""A member of a job, with a Spark that only pretends."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whorl.config.loader import load
from whorl.errors import PreflightFailed, WorldError, error_as_data
from whorl.jobs import lending
from whorl.plan import naming
from whorl.tasks.control import MEMBER, Drop, Status, StatusReader, Take, member_at, send_order
from whorl.testing.memory import MemoryBroker, MemoryClients

PIPELINE = (
    "name: p\n"
    "sources: {in: {type: kafka, topic: in, key: k, format: json, schema: {k: string, n: long}}}\n"
    "operators: [{id: two, type: count, from: in, key: k}]\n"
    "sinks: {out: {type: kafka, topic: out, from: two}}\n"
    "settings: {tasks: 2, heartbeat: 1h}\n"
)


class Pretended:
    """A Spark job that ends when it is told to."""

    made: list[Pretended]

    def __init__(self, context: Any, assignment: Any, clients: Any) -> None:
        self.context, self.assignment = context, assignment
        self.errors: list[Any] = []
        self.error: Exception | None = None
        self.description = "p/two"
        self.is_over = self.is_cancelled = self.is_started = False
        Pretended.made.append(self)

    def start(self) -> None:
        self.is_started = True

    def cancel(self) -> None:
        self.is_cancelled = True

    def wait(self, timeout: float) -> bool:
        return self.is_over


class World:
    """The register says that layout 3 of `two` is in force."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        broker = MemoryBroker()
        for topic in (naming.control_topic("p"), naming.status_topic("p")):
            broker.create_topic(topic)
        self.clients: Any = MemoryClients(broker)
        self.opened: list[int] = []
        self.closed = 0
        self.layout = 3
        Pretended.made = []
        (folder / "p.yaml").write_text(PIPELINE)
        monkeypatch.setattr(lending, "ComponentJob", Pretended)
        monkeypatch.setattr(lending, "open_session", self._open)
        monkeypatch.setattr(lending, "close_session", self._close)
        monkeypatch.setattr(lending, "read_registration", self._registration)
        monkeypatch.setattr(lending, "_LOOK", 0.0)
        cluster: Any = SimpleNamespace(clients=self.clients)
        self.member = lending._Member(load(folder / "p.yaml"), cluster, "tm-1.2", 3, folder)
        self.news = StatusReader(self.clients, "p", None, 0)

    def _open(self, options: Any) -> Any:
        self.opened.append(options.slots)
        context = SimpleNamespace(defaultParallelism=options.slots, master="local[1]")
        return SimpleNamespace(sparkContext=context)

    def _close(self, session: Any) -> None:
        self.closed += 1

    def _registration(self, clients: Any, pipeline: str) -> Any:
        layout = SimpleNamespace(number=self.layout)
        return SimpleNamespace(uid="uid", tasks=0, components={"two": SimpleNamespace(layout=layout)})

    def take(self, layout: int = 3, tasks: int = 2, slots: int = 4, uid: str = "uid", seat: str = "tm-1.2") -> None:
        laid = {"number": layout, "tasks": tasks, "lps": 4}
        order = Take(uid, "two", laid, {"in": ["in"]}, {"in": 4, "out": 4}, {"out": 100}, {}, slots)
        send_order(self.clients, member_at("p", seat), order)
        self.member.look()

    def said(self) -> list[Status]:
        self.member.look()
        return [status for status in self.news.read(0) if status.component == MEMBER]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_it_has_room_for_all_tasks_of_the_job_before_it_is_told_of_any(world: World) -> None:
    assert world.opened == [2 + 2]
    assert world.said() == []


def test_it_starts_what_it_is_told_to_take_and_tells_what_has_ended(world: World) -> None:
    world.take()
    (job,) = Pretended.made
    assert job.is_started
    assert (job.assignment.layout.number, job.assignment.component.id) == (3, "two")
    (told,) = world.said()
    assert (told.uid, told.error, told.figures) == ("uid", "tm-1.2", {"at_work": ["two/3"], "ended": {}})
    assert world.said() == []  # until the next heartbeat
    job.errors, job.is_over = [WorldError("no more")], True
    (told,) = world.said()
    assert told.figures == {"at_work": [], "ended": {"two/3": [error_as_data(WorldError("no more"))]}}


@pytest.mark.parametrize("told", [{"layout": 2}, {"uid": "an earlier life"}, {"seat": "tm-1.1"}])
def test_what_was_said_long_ago_or_to_another_is_not_taken(world: World, told: dict[str, Any]) -> None:
    world.take(**told)
    assert Pretended.made == []


def test_what_is_dropped_ends_unless_it_is_another_layout(world: World) -> None:
    world.take()
    (job,) = Pretended.made
    send_order(world.clients, member_at("p", "tm-1.2"), Drop("two", 2))
    world.member.look()
    assert not job.is_cancelled
    send_order(world.clients, member_at("p", "tm-1.2"), Drop("two", 3))
    world.member.look()
    assert job.is_cancelled
    job.is_over, job.error = True, Exception("cancelled")
    world.member.look()  # and nobody minds


def test_a_spark_job_that_breaks_ends_the_member(world: World) -> None:
    world.take()
    Pretended.made[0].is_over, Pretended.made[0].error = True, Exception("the JVM is gone\nwith a trace")
    with pytest.raises(WorldError, match=r"the Spark job of 'p/two' ended: the JVM is gone$"):
        world.member.look()


def test_with_more_tasks_it_opens_a_larger_session_if_nothing_runs_in_it(world: World) -> None:
    world.take()
    world.layout = 4
    with pytest.raises(PreflightFailed, match="needs 7 slots"):
        world.take(4, tasks=3, slots=5)
    Pretended.made[0].is_over = True
    world.layout = 5
    world.take(5, tasks=3, slots=5)
    assert (world.opened, world.closed) == ([4, 5], 1)
    assert Pretended.made[-1].context.defaultParallelism == 5
