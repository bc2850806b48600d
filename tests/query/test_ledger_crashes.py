"""Exactly once, proved by exhaustion: whatever call is the last one of a process, driver or worker, the topics hold every row once."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from spark_on_paper import BATCHES, Driver, InTurn, Paper, arrow

from whorl.testing import Crash, Faults
from whorl.testing.memory import ABORTABLE, FENCED, QUEUE_FULL, TIMED_OUT

SEEDS = (None, 1, 2)


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.query.ledger.ThreadPoolExecutor", InTurn)


def staffed(paper: Paper, faults: list[Faults | None], seed: int | None) -> list:
    """Processes of which each can die for itself; with a seed there are several, and tasks move between them."""
    return [paper.worker(each) for each in faults[: 1 if seed is None else 3]]


def undisturbed(seed: int | None, hold: bool = False) -> tuple[list[str], list[list[str]]]:
    """The points of the driver, and those of each worker."""
    paper = Paper()
    driver = Driver(paper, staffed(paper, [Faults(hold=hold) for _ in range(3)], seed), Faults(hold=hold), seed)
    driver.run()
    paper.assert_exact("undisturbed")
    return driver.faults.points, [worker.faults.points for worker in driver.workers]


def test_the_workload_has_what_it_must_have():
    points, (worker,) = undisturbed(None)
    assert points.count("producer.init_transactions/request") == 2, "the driver's id, and the seat's in close"
    assert points.count("spark.offer") == len(BATCHES)
    assert worker.count("producer.commit_transaction/request") == 1 + 5, (
        "its seat, and all partitions but the empty one"
    )
    assert worker.count("producer.init_transactions/request") == 1, "a process keeps its producer over batches"
    assert sum(any(points) for points in undisturbed(1)[1]) > 1, "tasks move"


@pytest.mark.parametrize("survive", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_driver_dies_at_any_point(seed, survive):
    """Its workers die with it, or live on with their seats and serve the next driver."""
    points, _ = undisturbed(seed)
    for k, point in enumerate(points, 1):
        paper = Paper()
        first = Driver(paper, staffed(paper, [None] * 3, seed), Faults(crash_at=k, hold=k % 2 == 0), seed)
        with pytest.raises(Crash):
            first.run()
        Driver(paper, first.workers if survive else None, seed=seed).run(retries=0)
        paper.assert_exact((k, point))


@pytest.mark.parametrize("same_seat", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_worker_dies_at_any_point(seed, same_seat):
    """A second attempt says that it is in doubt, the driver takes the ledger again, and the batch is repeated."""
    for number, points in enumerate(undisturbed(seed)[1]):
        for k, point in enumerate(points, 1):
            paper = Paper()
            faults = [Faults(crash_at=k, hold=k % 2 == 0) if each == number else None for each in range(3)]
            driver = Driver(paper, staffed(paper, faults, seed), seed=seed)
            driver.same_seats = same_seat
            driver.run(retries=1)
            assert "doubt" in {outcome.how for outcome in driver.outcomes}
            paper.assert_exact((number, k, point))


@pytest.mark.parametrize("survive", [False, True])
def test_a_driver_dies_while_it_repeats_what_another_died_of(survive):
    """In doubt twice: seats of two runs to fence, a run that was written and never used."""
    points, _ = undisturbed(1)
    for first in range(3, len(points) + 1, 5):
        second = 1
        while True:
            paper = Paper()
            dying = Driver(paper, staffed(paper, [None] * 3, 1), Faults(crash_at=first), 1)
            with pytest.raises(Crash):
                dying.run()
            workers = dying.workers if survive else None
            again = Driver(paper, workers, Faults(crash_at=second, hold=True), 2)
            try:
                again.run(retries=0)
            except Crash:
                Driver(paper, again.workers, seed=3).run(retries=0)
                paper.assert_exact((first, second))
                second += 7
                continue
            paper.assert_exact(first)
            break


def test_a_worker_dies_and_then_the_driver_while_it_takes_the_ledger_again():
    _, (worker,) = undisturbed(None)
    for dies in range(4, len(worker), 5):
        until = len(after_a_death(dies, None).faults.points)
        for k in range(20, until, 5):
            driver = after_a_death(dies, k)
            Driver(driver.paper, driver.workers).run(retries=1)
            driver.paper.assert_exact((dies, k))


def after_a_death(dies: int, crash_at: int | None) -> Driver:
    """A worker dies, and the driver too, or ends well."""
    paper = Paper()
    driver = Driver(paper, [paper.worker(Faults(crash_at=dies))], Faults(crash_at=crash_at))
    with nullcontext() if crash_at is None else pytest.raises(Crash):
        driver.run(retries=1)
    return driver


IN_TRANSACTIONS = ("producer.produce", "producer.commit_transaction")
FAILURES = {
    "timed out": (TIMED_OUT, ("init_transactions", "commit_transaction"), 0),
    "queue full": (QUEUE_FULL, ("producer.produce",), 0),
    "abortable": (ABORTABLE, IN_TRANSACTIONS, 1),
    "fenced": (FENCED, IN_TRANSACTIONS, 1),
}
"""What fails, where, and how often a driver must take the ledger again to get over it."""


def failing(point: str, where: tuple[str, ...], timed_out: bool) -> bool:
    return any(part in point for part in where) and (timed_out or "/" not in point)


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_at_any_point_of_a_worker(name):
    failure, where, retries = FAILURES[name]
    _, (points,) = undisturbed(None)
    met = 0
    for k, point in enumerate(points, 1):
        if failing(point, where, failure is TIMED_OUT):
            met += 1
            paper = Paper()
            Driver(paper, [paper.worker(Faults(fail={k: failure}, hold=k % 2 == 0))]).run(retries)
            paper.assert_exact((k, point))
    assert met > 3


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_at_any_point_of_the_driver(name):
    """A transaction of its own that Kafka aborts is done again; one that it is fenced from makes it take the ledger once more."""
    failure, where, retries = FAILURES[name]
    driver = Driver(half_done())
    driver.run()
    for k, point in enumerate(driver.faults.points, 1):
        if failing(point, where, failure is TIMED_OUT):
            paper = half_done()
            Driver(paper, faults=Faults(fail={k: failure})).run(retries if name == "fenced" else 0)
            paper.assert_exact((k, point))


def half_done() -> Paper:
    """Batch 0 is written, and Spark does not know; a seat is there to be fenced."""
    paper = Paper()
    driver = Driver(paper)
    driver.start()
    paper.offer(0)
    driver.batch(0)
    return paper


def test_kafka_gives_up_the_transaction_of_a_slow_task():
    """That looks like being fenced; nobody took over, so the driver takes the ledger again and goes on."""
    paper = Paper()
    slow = Driver(paper)
    slow.start()
    paper.offer(0)

    def rows():
        yield from arrow(BATCHES[0][0])
        paper.clock.now += 301

    outcome = slow.workers[0].write(rows(), slow.order(0), 0)
    assert outcome.how == "doubt" and "took over" in outcome.detail
    slow.run()
    paper.assert_exact()
