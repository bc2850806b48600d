from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.helpers_supervision import World, told_with_a_death_at_every_change

from whorl.server.records import Wish
from whorl.server.schemas import JobStatus

NEVER_AGAIN = {"strategy": "none"}


def test_a_job_runs_is_stopped_and_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.submit("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    world.wish("a", Wish.STOP)
    world.until(world.is_("a", JobStatus.SUSPENDED))
    world.resume("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    assert world.job("a").attempt == 2
    world.wish("a", Wish.CANCEL)
    world.until(world.is_("a", JobStatus.CANCELED))


def test_a_job_that_waits_says_for_what_and_is_stopped_without_ever_running(tmp_path: Path) -> None:
    world = World(tmp_path, managers=1)
    world.submit("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    world.submit("b")
    world.until(lambda: "all 1 are busy, with 'a'" in world.job("b").reason)
    assert world.job("b").status is JobStatus.CREATED
    world.wish("b", Wish.STOP)
    world.until(world.is_("b", JobStatus.SUSPENDED))


def test_jobs_beyond_the_task_managers_run_one_after_the_other(tmp_path: Path) -> None:
    world = World(tmp_path, managers=3)
    for number in range(50):
        world.submit(f"j{number}")
    for number in range(50):
        world.until(world.is_(f"j{number}", JobStatus.RUNNING))
        world.wish(f"j{number}", Wish.STOP)
    world.until(lambda: all(job.status is JobStatus.SUSPENDED for job in world.server.store.jobs()))
    assert sorted(run for sim in world.sims for run in sim.ran) == sorted((f"j{n}", 1) for n in range(50))


def test_one_that_is_too_large_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, managers=1)
    world.submit("a")
    record = world.job("a")
    large = [part.model_copy(update={"slots": 20}) for part in record.known.parts]
    world.server.store.put(record.changed(known=record.known.model_copy(update={"parts": large})))
    world.until(lambda: "needs 20 slots" in world.job("a").reason)


def test_three_missed_heartbeats_and_another_task_manager_has_the_job(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.submit("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    lost, at = world.runner("a"), world.now
    lost.alive = False
    world.until(world.is_("a", JobStatus.RESTARTING))
    assert 3 <= world.now - at <= 4.5
    world.until(world.is_("a", JobStatus.RUNNING))
    assert world.runner("a") is not lost
    [failure] = world.server.store.failures("a")
    assert (failure.code, failure.task_manager) == ("task-manager-lost", lost.id)
    assert any("runs again" in message and "s after it was lost" in message for _, _, message in world.log)


def test_one_that_hung_and_wakes_up_is_told_to_drop_it_and_never_counts_as_running(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.submit("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    hung = world.runner("a")
    hung.hangs = True
    world.until(lambda: world.job("a").attempt == 2 and world.job("a").status is JobStatus.RUNNING)
    hung.hangs = False
    world.until(lambda: hung.run is None)
    assert hung.dropped == 1
    assert world.job("a").status is JobStatus.RUNNING
    assert world.runner("a") is not hung


def test_a_server_that_was_asleep_makes_nobody_dead(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.submit("a")
    world.until(world.is_("a", JobStatus.RUNNING))
    world.now += 600
    for _ in range(20):
        world.step()
    assert (world.job("a").status, world.job("a").attempt) == (JobStatus.RUNNING, 1)


def test_a_server_that_starts_anew_adopts_what_runs_and_finds_what_died_meanwhile(tmp_path: Path) -> None:
    world = World(tmp_path)
    for id in "ab":
        world.submit(id)
        world.until(world.is_(id, JobStatus.RUNNING))
    dead = world.runner("b")
    dead.alive = False
    world.now += 100
    world.server.store.close()
    world._start()
    for _ in range(40):
        world.step()
    assert (world.job("a").status, world.job("a").attempt) == (JobStatus.RUNNING, 1)
    assert world.job("b").status is JobStatus.RESTARTING
    world.sims.append(type(dead)("tm-9"))
    world.until(world.is_("b", JobStatus.RUNNING))
    assert world.runner("b").id == "tm-9"


def test_a_job_that_crashes_for_ever_ends_failed_with_the_reason_on_top(tmp_path: Path) -> None:
    world = World(tmp_path, managers=1)
    world.submit("a", restart={"strategy": "fixed", "attempts": 3, "delay": "1s"})
    for _ in range(200):
        if world.job("a").status is JobStatus.FAILED:
            break
        if world.sims[0].run and world.sims[0].ended is None:
            world.sims[0].fails("ZeroDivisionError: at the start")
        world.step()
    assert world.job("a").status is JobStatus.FAILED
    assert world.job("a").reason.startswith("ZeroDivisionError: at the start (failed 4 times")
    assert (world.job("a").attempt, world.job("a").restarts) == (4, 3)


@pytest.mark.parametrize(("helps", "settings"), [(False, {}), (True, {"restart": NEVER_AGAIN})])
def test_what_another_start_would_not_help_ends_at_once(
    tmp_path: Path, helps: bool, settings: dict[str, object]
) -> None:
    world = World(tmp_path)
    world.submit("a", **settings)
    world.until(world.is_("a", JobStatus.RUNNING))
    world.runner("a").fails("wrong", helps)
    world.until(world.is_("a", JobStatus.FAILED))
    assert world.job("a").reason == "wrong"


def test_one_that_leaves_is_no_failure(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.submit("a", restart=NEVER_AGAIN)
    world.until(world.is_("a", JobStatus.RUNNING))
    leaving = world.runner("a")
    leaving.fails()
    leaving.ended = leaving.ended.model_copy(update={"how": "left", "failed": None}) if leaving.ended else None
    world.until(lambda: world.job("a").status is JobStatus.RUNNING and world.job("a").attempt == 2)
    assert world.job("a").failures == []


def _story(world: World) -> None:
    """A life with everything in it: two jobs, a death, a failure, a hang, a stop, a resume, a cancel."""
    world.submit("a")
    world.submit("b")
    world.until(lambda: world.is_("a", JobStatus.RUNNING)() and world.is_("b", JobStatus.RUNNING)())
    world.runner("a").fails()
    world.until(lambda: world.job("a").attempt >= 2 and world.is_("a", JobStatus.RUNNING)())
    world.runner("a").alive = False
    world.until(lambda: world.job("a").attempt >= 3 and world.is_("a", JobStatus.RUNNING)())
    hung = world.runner("a")
    hung.hangs = True
    world.until(lambda: world.job("a").attempt >= 4 and world.is_("a", JobStatus.RUNNING)())
    hung.hangs = False
    world.wish("b", Wish.STOP)
    world.until(world.is_("b", JobStatus.SUSPENDED))
    world.resume("b")
    world.until(world.is_("b", JobStatus.RUNNING))
    world.wish("b", Wish.CANCEL)
    world.until(world.is_("b", JobStatus.CANCELED))
    world.until(lambda: sum(sim.run is not None for sim in world.sims if sim.alive) == 1)
    assert world.runner("a").alive


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_server_may_die_at_any_change_of_the_store(tmp_path: Path, when: str) -> None:
    assert told_with_a_death_at_every_change(_story, tmp_path, managers=4, when=when) > 15
