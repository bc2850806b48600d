"""What a driver and a member say to each other, without Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whorl.config.loader import load
from whorl.errors import OperatorFailed, Superseded, WorldError, error_as_data, error_of_data
from whorl.jobs.ends import is_bounded
from whorl.jobs.job import Job, State
from whorl.jobs.lending import assignment_of
from whorl.jobs.members import Members, RemoteJob, order_of
from whorl.jobs.queries import with_columns
from whorl.jobs.runner import plan_of
from whorl.plan import naming
from whorl.plan.plan import Host, Plan
from whorl.schema import Schema
from whorl.tasks.assignment import Assignment
from whorl.tasks.control import MEMBER, Drop, OrderReader, Status, Take, member_at
from whorl.tasks.host import ComponentJob
from whorl.tasks.layout import Layout
from whorl.testing.memory import MemoryBroker, MemoryClients

TWO = (
    "name: p\n"
    "sources: {in: {type: kafka, topic: in, key: k, format: json, schema: {k: string, n: long}}}\n"
    "operators:\n"
    "  - {id: one, type: sql, query: 'SELECT k, n FROM in'}\n"
    "  - {id: two, type: count, from: one, key: k}\n"
    "sinks: {out: {type: kafka, topic: out, from: two}}\n"
)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_in(tmp_path, TWO)


def plan_in(folder: Path, text: str) -> Plan:
    (folder / "p.yaml").write_text(text)
    return plan_of(load(folder / "p.yaml"))


@pytest.fixture
def clients() -> Any:
    broker = MemoryBroker()
    broker.create_topic(naming.control_topic("p"))
    return MemoryClients(broker)


def assignment(plan: Plan, layout: int = 3) -> Assignment:
    component = next(each for each in plan.on(Host.TASKS))
    edge = component.inputs[0].topic
    return Assignment(
        pipeline="p",
        uid="uid",
        component=component,
        layout=Layout(layout, 2, 4),
        topics={component.inputs[0].id: (edge,)},
        partitions={edge: 4, "out": 4, plan.dead_letter: 4},
        limits={"out": 100},
        dead_letter=plan.dead_letter,
        settings=plan.settings,
    )


def members_of(clients: Any, elsewhere: dict[str, str], adopted: frozenset[str] = frozenset()) -> Members:
    return Members(clients, lambda: elsewhere, 9, adopted)


def said(seat: str, at_work: list[str], ended: dict[str, Any]) -> Status:
    figures = {"at_work": at_work, "ended": ended}
    return Status("uid", MEMBER, 0, 0, 0, "here", 1, "member", 0.0, figures, error=seat)


def test_a_member_makes_of_an_order_what_the_driver_meant(plan: Plan, tmp_path: Path) -> None:
    """Also columns that only turned out when the query was prepared; and of all topics that there are, those that it needs."""
    edge = plan.on(Host.TASKS)[0].inputs[0].topic
    exact = with_columns(plan, {edge: Schema.of({"k": "string", "n": "double"})})
    meant = assignment(exact)
    order = order_of(exact, meant, 9)
    others = Assignment(**{**meant.__dict__, "partitions": {**meant.partitions, "of somebody else": 1000}})
    assert order_of(exact, others, 9) == order
    assert (order.slots, order.columns) == (9, {edge: {"k": "string", "n": "double"}})
    assert assignment_of(plan, order) == meant


def test_the_driver_hosts_what_nobody_else_has(plan: Plan, clients: Any) -> None:
    job = members_of(clients, {}).host(None, plan, assignment(plan))  # type: ignore[arg-type]
    assert isinstance(job, ComponentJob)
    assert job.seat is None


def test_an_order_reaches_its_seat_and_no_earlier_one(plan: Plan, clients: Any) -> None:
    members = members_of(clients, {"two": "tm-1.2"})
    job = members.host(None, plan, assignment(plan))  # type: ignore[arg-type]
    job.start()
    assert isinstance(job, RemoteJob) and job.seat == "tm-1.2"
    heard, before = (OrderReader(clients, member_at("p", seat)) for seat in ("tm-1.2", "tm-1.1"))
    order = heard.next(0)
    assert isinstance(order, Take) and assignment_of(plan, order) == assignment(plan)
    assert before.next(0) is None
    job.cancel()
    assert heard.next(0) == Drop("two", 3)
    assert job.wait(0)


def test_what_nobody_has_is_told_to_nobody(plan: Plan, clients: Any) -> None:
    job = members_of(clients, {"two": ""}).host(None, plan, assignment(plan))  # type: ignore[arg-type]
    job.start()
    assert not job.wait(0)
    assert OrderReader(clients, member_at("p", "")).next(0) is None


def test_the_end_comes_with_its_errors(plan: Plan, clients: Any) -> None:
    members = members_of(clients, {"two": "tm-1.2"})
    job = members.host(None, plan, assignment(plan))  # type: ignore[arg-type]
    error = OperatorFailed("two", "boom", place="p.py:3", trace="...")
    ended = {"two/3": [error_as_data(error)]}
    members.take([said("tm-1.1", [], ended), said("tm-1.2", ["two/2"], {"two/2": []})])
    assert not job.wait(0)
    members.take([said("tm-1.2", [], ended)])
    assert job.wait(0)
    (found,) = job.errors
    assert (type(found), str(found), found.__dict__) == (OperatorFailed, str(error), error.__dict__)


@pytest.mark.parametrize(("at_work", "over"), [(["two/3"], False), (["two/2"], True), ([], True)])
def test_what_was_adopted_is_not_told_again_and_must_be_there(
    plan: Plan, clients: Any, at_work: list[str], over: bool
) -> None:
    members = members_of(clients, {"two": "tm-1.2"}, frozenset({"two"}))
    job = members.host(None, plan, assignment(plan))  # type: ignore[arg-type]
    job.start()
    assert OrderReader(clients, member_at("p", "tm-1.2")).next(0) is None
    members.take([said("tm-1.2", at_work, {})])
    assert job.wait(0) is over
    again = members.host(None, plan, assignment(plan, 4))  # type: ignore[arg-type]
    again.start()
    assert isinstance(OrderReader(clients, member_at("p", "tm-1.2")).next(0), Take)
    members.take([said("tm-1.2", [], {})])  # it has not heard of it yet
    assert not again.wait(0)


def test_errors_cross_as_data() -> None:
    for error in (Superseded("a", hint="b"), WorldError("c", code="d", where="e")):
        again = error_of_data(error_as_data(error))
        assert (type(again), str(again), again.code) == (type(error), str(error), error.code)
    assert type(error_of_data({"kind": "Newer", "args": ["x"], "fields": {"message": "x"}})) is WorldError


class Anywhere:
    """Hosts what it is told to, and keeps the seats."""

    adopted: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.seats: dict[str, str | None] = {"two": "tm-1.2"}

    def seat_of(self, id: str) -> str | None:
        return self.seats[id]


@pytest.fixture
def job(plan: Plan, clients: Any, monkeypatch: pytest.MonkeyPatch) -> Job:
    """At work, with `two` in a seat."""
    nothing: Any = None
    queries: Any = SimpleNamespace(plan=plan, jobs={})
    members: Any = Anywhere()
    made = Job(nothing, queries, nothing, {}, nothing, members, [])
    made.state = State.RUNNING
    made.jobs["two"] = RemoteJob(clients, "tm-1.2", assignment(plan), order_of(plan, assignment(plan), 9))
    laid_out: list[str] = []
    monkeypatch.setattr(made, "_lay_out", lambda ids: laid_out.extend(ids))
    monkeypatch.setattr(made, "laid_out", laid_out, raising=False)
    return made


def test_a_component_whose_seat_is_another_starts_anew(job: Any) -> None:
    job._follow_members()
    assert job.laid_out == []
    job._members.seats["two"] = ""
    job._follow_members()
    assert job.laid_out == ["two"]


def test_one_that_ended_though_nobody_wanted_it_starts_anew_unless_it_failed(job: Any) -> None:
    job.jobs["two"].hear([], {"two/3": [error_as_data(WorldError("no"))]})
    job._follow_members()
    assert job.laid_out == []
    job.jobs["two"].hear([], {"two/3": []})
    job._follow_members()
    assert job.laid_out == ["two"]


@pytest.mark.parametrize("seat", ["", "tm-2.3", None])
def test_a_job_that_stops_does_without_a_member_that_is_gone(job: Any, seat: str | None) -> None:
    job.state = State.STOPPING
    job._follow_members()
    assert (job.jobs["two"].wait(0), job.was_cancelled) == (False, False)
    job._members.seats["two"] = seat
    job._follow_members()
    assert (job.jobs["two"].wait(0), job.was_cancelled, job.laid_out) == (True, True, [])


def test_a_component_that_nobody_has_is_not_hung(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job.watch.expect("two", 3, 1)
    monkeypatch.setattr(type(job.watch.components["two"]), "note_hung", lambda self: True)
    job.jobs["two"].seat = ""
    job._replace_hung()
    assert job.laid_out == []
    job.jobs["two"].seat = "tm-1.2"
    job._replace_hung()
    assert job.laid_out == ["two"]


@pytest.mark.parametrize(
    ("sources", "bounded"),
    [
        ("{in: {type: list, rows: [{k: a, n: 1}]}}", True),
        ("{in: {type: rate, limit: 10}}", True),
        ("{in: {type: rate}}", False),
        ("{in: {type: kafka, topic: in, format: json, schema: {k: string, n: long}}}", False),
    ],
)
def test_which_pipelines_end_by_themselves(tmp_path: Path, sources: str, bounded: bool) -> None:
    text = (
        f"name: p\nsources: {sources}\noperators: [{{id: one, type: forward, from: in}}]\n"
        "sinks: {out: {type: kafka, topic: out, from: one}}\n"
    )
    assert is_bounded(plan_in(tmp_path, text)) is bounded
