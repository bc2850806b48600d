"""Jobs on several task managers: one leads, the others are members. What one of them had goes to another; the rest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.helpers_supervision import Sim, World, told_with_a_death_at_every_change

from whorl.server.orders import Ended
from whorl.server.records import Wish
from whorl.server.schemas import ComponentStatus, Health, JobStatus
from whorl.server.views import components_of, health_of


def spread(folder: Path, managers: int = 3, parts: int = 2) -> World:
    world = World(folder, managers)
    world.submit("a", parts=parts, task_managers=2)
    world.until(world.is_("a", JobStatus.RUNNING))
    return world


def status_of(world: World, component: str) -> ComponentStatus:
    record = world.job("a")
    told = components_of(record, world.server.reports(record), world.server.silent(record))
    return next(each.status for each in told if each.id == component)


def at_work(world: World, component: str) -> Sim | None:
    """Who really has it."""
    record = world.job("a")
    manager = next((id for id, ids in record.task_managers.items() if component in ids), "")
    return next((sim for sim in world.sims if sim.id == manager and sim.is_well and sim.run), None)


def test_components_are_spread_and_one_leads(tmp_path: Path) -> None:
    world = spread(tmp_path)
    leader, member = world.runner("a"), world.member("a")
    assert world.job("a").task_managers == {leader.id: ["c"], member.id: ["c1"]}
    assert leader.run and member.run
    assert (leader.run.seat, leader.run.elsewhere) == ("", {"c1": f"{member.id}.1"})
    assert (member.run.seat, member.run.elsewhere) == (f"{member.id}.1", {})
    assert any(message == f"runs on {leader.id}, {member.id}" for _, _, message in world.log)


def test_it_waits_for_as_many_as_may_come_and_takes_none_before(tmp_path: Path) -> None:
    world = World(tmp_path, managers=1)
    world.starter.most = 1
    world.submit("a", parts=2, task_managers=2)
    world.until(lambda: world.starter.started == 1)
    assert world.job("a").task_managers == {}
    world.until(lambda: len(world.job("a").task_managers) == 1)  # since no other may come any more
    assert world.is_("a", JobStatus.RUNNING)


def test_a_member_that_dies_is_replaced_and_the_leader_goes_on(tmp_path: Path) -> None:
    world = spread(tmp_path)
    leader, member = world.runner("a"), world.member("a")
    member.alive = False
    world.until(world.is_("a", JobStatus.RESTARTING))
    assert status_of(world, "c1") is ComponentStatus.RESTARTING
    assert status_of(world, "c") is ComponentStatus.RUNNING
    world.until(world.is_("a", JobStatus.RUNNING))
    assert (world.runner("a"), leader.ran) == (leader, [("a", 1)])
    assert leader.run and leader.run.elsewhere == {"c1": f"{world.member('a').id}.2"}
    assert world.member("a") is not member
    [failure] = world.server.store.failures("a")
    assert (failure.code, failure.task_manager) == ("task-manager-lost", member.id)


def test_a_leader_that_dies_is_replaced_and_the_member_goes_on(tmp_path: Path) -> None:
    world = spread(tmp_path)
    leader, member = world.runner("a"), world.member("a")
    leader.alive = False
    world.until(world.is_("a", JobStatus.RESTARTING))
    world.until(world.is_("a", JobStatus.RUNNING))
    assert (world.member("a"), member.ran, member.dropped) == (member, [("a", 1)], 0)
    other = world.runner("a")
    assert other.run and (other.run.attempt, other.run.adopts) == (2, ["c1"])


def test_without_another_the_leader_takes_what_its_member_had(tmp_path: Path) -> None:
    world = spread(tmp_path, managers=2)
    leader, member = world.runner("a"), world.member("a")
    member.alive = False
    world.until(lambda: world.job("a").task_managers == {leader.id: ["c", "c1"]})
    world.until(world.is_("a", JobStatus.RUNNING))
    assert leader.run and leader.run.elsewhere == {}
    assert leader.ran == [("a", 1)]


def test_without_another_a_member_comes_back_to_lead(tmp_path: Path) -> None:
    world = spread(tmp_path, managers=2)
    leader, member = world.runner("a"), world.member("a")
    leader.alive = False
    world.until(lambda: world.job("a").task_managers == {member.id: ["c", "c1"]})
    world.until(world.is_("a", JobStatus.RUNNING))
    assert member.dropped == 1
    assert member.run and (member.run.seat, member.run.adopts) == ("", [])


def test_one_that_hung_wakes_up_to_another_seat(tmp_path: Path) -> None:
    world = spread(tmp_path)
    member = world.member("a")
    member.hangs = True
    world.until(lambda: world.job("a").attempt == 2 and world.job("a").status is JobStatus.RUNNING)
    member.hangs = False
    world.until(lambda: member.run is None)
    world.member("a").alive = False
    world.until(lambda: world.job("a").attempt == 3 and world.job("a").status is JobStatus.RUNNING)
    assert world.member("a") is member
    assert member.run and member.run.seat == f"{member.id}.3"


def test_a_component_never_looks_as_if_it_ran_where_nobody_runs_it(tmp_path: Path) -> None:
    world = spread(tmp_path, managers=4, parts=3)
    for victim in (world.member("a"), world.runner("a")):
        victim.alive = False
        at = world.now
        for _ in range(60):
            world.step()
            record = world.job("a")
            for part in record.known.parts:
                if world.now - at > 4 and status_of(world, part.id) is ComponentStatus.RUNNING:
                    assert at_work(world, part.id) is not None
        world.until(world.is_("a", JobStatus.RUNNING))


def test_health_is_that_of_the_worst(tmp_path: Path) -> None:
    world = spread(tmp_path)
    world.member("a").alive = False
    world.until(lambda: bool(world.server.silent(world.job("a"))) or world.is_("a", JobStatus.RESTARTING)())
    record = world.job("a")
    told = components_of(record, world.server.reports(record), world.server.silent(record))
    assert health_of(record, told) in (Health.DEGRADED, Health.FAILED)


def test_what_is_silent_is_lost_whatever_the_leader_says(tmp_path: Path) -> None:
    world = spread(tmp_path)
    record = world.job("a")
    told = components_of(record, world.server.reports(record), [world.member("a").id])
    assert [each.status for each in told] == [ComponentStatus.RUNNING, ComponentStatus.LOST]


def test_stop_is_for_the_leader_and_the_members_follow(tmp_path: Path) -> None:
    world = spread(tmp_path)
    member = world.member("a")
    world.wish("a", Wish.STOP)
    world.until(world.is_("a", JobStatus.SUSPENDED))
    world.until(lambda: member.run is None)
    assert (member.dropped, world.job("a").task_managers, world.job("a").leader) == (1, {}, "")
    world.resume("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    assert world.job("a").attempt == 2


def test_a_member_that_dies_while_the_job_stops_does_not_hinder_it(tmp_path: Path) -> None:
    world = spread(tmp_path)
    leader, member = world.runner("a"), world.member("a")
    world.wish("a", Wish.SAVE)
    member.alive = False
    world.until(lambda: member.id not in world.job("a").task_managers)
    assert world.job("a").task_managers == {leader.id: ["c"]}
    for _ in range(20):
        world.step()
    assert leader.run and leader.run.elsewhere == {"c1": ""}
    world.wish("a", Wish.STOP)
    world.until(world.is_("a", JobStatus.SUSPENDED))


def test_a_job_without_a_leader_is_stopped_at_once(tmp_path: Path) -> None:
    world = spread(tmp_path, managers=2)
    world.starter.most = 1
    world.runner("a").alive = False
    world.until(lambda: not world.job("a").is_led)
    world.wish("a", Wish.STOP)
    world.until(world.is_("a", JobStatus.SUSPENDED))


def test_a_member_that_leaves_or_fails_is_replaced(tmp_path: Path) -> None:
    world = spread(tmp_path)
    leader = world.runner("a")
    world.member("a").ended = Ended(how="left")
    world.until(lambda: world.job("a").attempt == 2 and world.job("a").status is JobStatus.RUNNING)
    assert (world.job("a").failures, world.runner("a")) == ([], leader)
    world.member("a").fails("the Spark job of 'c1' ended")
    world.until(lambda: world.job("a").attempt == 3 and world.job("a").status is JobStatus.RUNNING)
    assert len(world.job("a").failures) == 1
    assert (world.runner("a"), leader.ran) == (leader, [("a", 1)])


def test_a_leader_that_fails_takes_all_with_it(tmp_path: Path) -> None:
    world = spread(tmp_path)
    member = world.member("a")
    world.runner("a").fails("wrong", helps=False)
    world.until(world.is_("a", JobStatus.FAILED))
    world.until(lambda: member.run is None)
    assert world.job("a").reason == "wrong"


@pytest.mark.parametrize("who", ["leader", "member"])
def test_one_whose_work_does_not_move_is_given_up_though_its_heart_beats(tmp_path: Path, who: str) -> None:
    world = spread(tmp_path)
    hung = world.runner("a") if who == "leader" else world.member("a")
    other = world.member("a") if who == "leader" else world.runner("a")
    hung.stalled = 299.0
    for _ in range(20):
        world.step()
    assert world.job("a").attempt == 1
    hung.stalled = 301.0
    world.until(lambda: hung.dropped == 1)
    hung.stalled = 0.0
    world.until(lambda: world.job("a").attempt == 2 and world.job("a").status is JobStatus.RUNNING)
    assert other.ran == [("a", 1)]
    [failure] = world.server.store.failures("a")
    assert (failure.code, "has not moved for 301 s" in failure.error) == ("task-manager-hung", True)


def test_a_store_of_before_there_were_members_is_read(tmp_path: Path) -> None:
    world = World(tmp_path, managers=1)
    world.submit("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    world.server.store.put(world.job("a").changed(starts={}, leader=""))
    for _ in range(20):
        world.step()
    assert (world.job("a").status, world.job("a").attempt) == (JobStatus.RUNNING, 1)
    world.wish("a", Wish.STOP)
    world.until(world.is_("a", JobStatus.SUSPENDED))


def _story(world: World) -> None:
    """A member dies, the leader dies, one hangs and wakes, a stop, a resume."""
    world.submit("a", parts=3, task_managers=2)
    world.until(world.is_("a", JobStatus.RUNNING))
    world.member("a").alive = False
    world.until(world.is_("a", JobStatus.RESTARTING))
    world.until(world.is_("a", JobStatus.RUNNING))
    world.runner("a").alive = False
    world.until(world.is_("a", JobStatus.RESTARTING))
    world.until(world.is_("a", JobStatus.RUNNING))
    hung = world.member("a")
    hung.hangs = True
    world.until(world.is_("a", JobStatus.RESTARTING))
    world.until(world.is_("a", JobStatus.RUNNING))
    hung.hangs = False
    world.until(lambda: hung.run is None)
    world.wish("a", Wish.STOP)
    world.until(world.is_("a", JobStatus.SUSPENDED))
    world.resume("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    world.wish("a", Wish.CANCEL)
    world.until(lambda: world.is_("a", JobStatus.CANCELED)() and not any(sim.run for sim in world.sims if sim.alive))


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_server_may_die_at_any_change_of_the_store(tmp_path: Path, when: str) -> None:
    assert told_with_a_death_at_every_change(_story, tmp_path, managers=5, when=when) > 10
