"""Nobody writes who should not: tasks that wake up late, drivers that do not know of one another, at every point of a takeover."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from spark_on_paper import BATCHES, EXPECTED, Driver, InTurn, Paper, Sleeper, Worker, arrow, finish

from whorl.errors import Superseded, Unavailable
from whorl.query.writer import Outcome
from whorl.testing import Faults

HARMLESS = ("written", "superseded", "doubt")


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.query.ledger.ThreadPoolExecutor", InTurn)


def late_task(paper: Paper, pooled: bool) -> Sleeper:
    """A task of a driver that is about to be forgotten: in a process that has a seat of that driver's run, or in one that has none yet."""
    old = Driver(paper, [paper.worker(name="late")])
    old.start()
    batch = 1 if pooled else 0
    for before in range(batch):
        paper.offer(before)
        old.batch(before)
        paper.commit(before)
    paper.offer(batch)
    order, (worker,) = old.order(batch), old.workers

    def life(faults: Faults) -> Outcome:
        _fall_asleep_by(worker, faults)
        return worker.write(arrow(BATCHES[batch][1]), order, 1)

    return Sleeper(paper, life)


def _fall_asleep_by(worker: Worker, faults: Faults) -> None:
    worker.clients.faults = worker.faults = faults
    for _, seat in worker.seats._taken.values():
        producer = seat.transactions.producer
        producer._faults = producer._transaction._faults = faults


def successor(paper: Paper) -> Sleeper:
    """A driver with processes of its own, from its start to its end."""
    return Sleeper(paper, lambda faults: Driver(paper, faults=faults).run(retries=0))


def points_of(make: Callable[[Paper], Sleeper]) -> list[str]:
    return make(Paper()).go().faults.points


def takeover(pooled: bool) -> int:
    """The number of points until the new driver has taken the ledger."""
    paper = Paper()
    late_task(paper, pooled)
    return successor(paper).go().faults.points.index("spark.batch") + 1


@pytest.mark.parametrize("pooled", [False, True])
def test_a_task_wakes_up_at_any_point_of_the_takeover(pooled):
    """It sleeps anywhere while a new driver goes as far as anywhere, and then does all that it still can."""
    for asleep in range(1, len(points_of(partial(late_task, pooled=pooled))) + 1):
        for step in range(1 + asleep % 2, takeover(pooled) + 4, 2):
            paper = Paper()
            late, new = late_task(paper, pooled).go(until=asleep), successor(paper).go(until=step)
            late.go()
            finish(new, late)
            assert new.error is None and late.error is None, (asleep, step, new.error, late.error)
            assert late.result.how in HARMLESS
            paper.assert_exact((asleep, step, late.result))


@pytest.mark.parametrize("pooled", [False, True])
def test_a_task_wakes_up_when_all_is_over(pooled):
    """With a seat of the old run it is fenced; without one it sits down, and sees the new run."""
    paper = Paper()
    late = late_task(paper, pooled)
    finish(successor(paper))
    late.go()
    assert late.result.how == ("doubt" if pooled else "superseded")
    assert paper.written() == EXPECTED


def test_a_task_wakes_up_for_a_moment_and_sleeps_again():
    """At any step of the takeover it sits down in its seat, whole or in part, and it writes when the new driver has done the work."""
    points = points_of(partial(late_task, pooled=False))
    seated, noted = points.index("producer.init_transactions/answer") + 1, points.index("consumer.assign") + 1
    last = len(points) - points[::-1].index("producer.commit_transaction/request")
    for asleep, until in ((1, noted), (1, last), (seated, last), (noted, last), (1, seated)):
        for step in range(1, takeover(False) + 2):
            paper = Paper()
            late, new = late_task(paper, False).go(until=asleep), successor(paper).go(until=step)
            late.go(until=until)
            finish(new)
            finish(late)
            assert new.error is None, (asleep, step, new.error)
            paper.assert_exact((asleep, until, step, late.result))


def whole_life(paper: Paper) -> Sleeper:
    """A driver and its only worker, which sleep together."""
    return Sleeper(paper, lambda faults: Driver(paper, [paper.worker(faults)], faults).run())


@pytest.mark.parametrize("known", [False, True])
def test_a_driver_and_its_worker_sleep_while_another_does_the_work(known):
    """`known`: the other's process gets the name of the sleeper's seat, as if the sleeper were a machine that was cut off."""
    for k, point in enumerate(points_of(whole_life), 1):
        paper = Paper()
        old = whole_life(paper).go(until=k)
        Driver(paper, [paper.worker(name="seat1" if known else "")]).run(retries=0)
        old.go()
        if isinstance(old.error, Superseded):
            Driver(paper).run(retries=0)
        assert old.error is None or isinstance(old.error, Superseded), (k, point, old.error)
        paper.assert_exact((k, point))


def test_a_driver_wakes_up_beside_its_successor():
    """It goes on for a while beside it, until it learns that its time is over; the last to take the ledger does the work."""
    total = len(points_of(whole_life))
    for k in range(1, total, 4):
        for step in range(5, 100, 19):
            paper = Paper()
            old, new = whole_life(paper).go(until=k), whole_life(paper).go(until=step)
            old.go(until=k + 30)
            new.go(until=step + 30)
            finish(old, new)
            assert {type(each.error) for each in (old, new)} <= {type(None), Superseded, Unavailable}
            Driver(paper).run(retries=0)
            paper.assert_exact((k, step, old.error, new.error))


def taking(paper: Paper) -> Sleeper:
    def life(faults: Faults) -> Driver:
        driver = Driver(paper, faults=faults)
        driver.start()
        return driver

    return Sleeper(paper, life)


def left_by_a_dead_driver() -> Paper:
    """With a seat to fence, and a batch in doubt of which a part is written."""
    paper = Paper()
    dead = Driver(paper)
    dead.start()
    paper.offer(0)
    dead.workers[0].write(arrow(BATCHES[0][0]), dead.order(0), 0)
    return paper


def test_two_drivers_take_the_ledger_at_once():
    """Whoever was the last to write a run goes on. The other may believe in itself for a while, and can write nothing."""
    length = len(taking(left_by_a_dead_driver()).go().faults.points)
    for first in range(1, length + 1):
        for second in range(1 + first % 3, length + 1, 3):
            paper = left_by_a_dead_driver()
            one, two = taking(paper).go(until=first), taking(paper).go(until=second)
            for sleeper in (one, two) if second % 2 else (two, one):
                sleeper.go()
            finish(one, two)
            drivers = [each.result for each in (one, two) if each.result]
            assert drivers and all(isinstance(each.error, Superseded | None) for each in (one, two)), (first, second)
            assert len({driver.taken.run for driver in drivers}) == len(drivers), "a run is one driver's"
            drivers.sort(key=lambda driver: driver.taken.run)
            *lost, won = [_ends(driver) for driver in drivers]
            assert won == "well" and "well" not in lost, (first, second, lost, won)
            paper.assert_exact((first, second))


def _ends(driver: Driver) -> str:
    try:
        driver.work()
    except (Superseded, Unavailable) as error:
        return type(error).__name__
    driver.ledger.close()
    return "well"


def test_two_drivers_and_their_workers_at_once():
    """Both go on from a take that both believe in, task by task in turns."""
    for first in range(1, 130, 11):
        for second in range(1, 130, 13):
            paper = left_by_a_dead_driver()
            one, two = whole_life(paper).go(until=first), whole_life(paper).go(until=second)
            for ahead in range(20, 100, 20):
                one.go(until=first + ahead)
                two.go(until=second + ahead)
            finish(one, two)
            Driver(paper).run(retries=0)
            paper.assert_exact((first, second, one.error, two.error))
