from __future__ import annotations

import orjson
import pytest
from spark_on_paper import BATCHES, COMPONENT, EXPECTED, LEDGER, UID, Driver, InTurn, Paper, arrow

from whorl.errors import PipelineError, Superseded, Unavailable, WorldError
from whorl.kafka.reading import read_to_end
from whorl.kafka.transactions import Transactions
from whorl.query import ledger as module
from whorl.query.ledger import RUN, RUN_KEY, SEATS, Ledger, Written
from whorl.testing import Crash, Faults
from whorl.testing.memory import Failure, MemoryClients


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.query.ledger.ThreadPoolExecutor", InTurn)


def ledger(paper: Paper, faults: Faults | None = None) -> Ledger:
    return Ledger(MemoryClients(paper.broker, faults), LEDGER, UID, COMPONENT)


def seats(paper: Paper) -> dict[str, bytes | None]:
    return {entry.key.decode(): entry.value for entry in paper.broker.records(LEDGER) if entry.partition == SEATS}


def test_runs_are_counted():
    paper = Paper()
    assert ledger(paper).last_run() == 0
    assert [ledger(paper).take().run for _ in range(3)] == [1, 2, 3]
    assert ledger(paper).last_run() == 3


def test_a_run_whose_commit_is_under_way_is_waited_for():
    """Kafka answers a commit before readers of committed data see what it holds."""
    paper = Paper()
    ledger(paper).take()
    writing = Transactions(MemoryClients(paper.broker).transactional("driver"))
    writing.init()
    writing.begin()
    writing.produce(LEDGER, orjson.dumps({"version": 1, "run": 2}), RUN_KEY, RUN)
    paper.broker.idle = lambda timeout: writing.commit()
    assert ledger(paper).last_run() == 2


def test_what_a_batch_came_to_is_there_for_the_next_driver():
    paper = Paper()
    driver = Driver(paper)
    driver.start()
    paper.offer(0)
    driver.workers[0].write(arrow(BATCHES[0][1]), driver.order(0), 1)
    taken = ledger(paper).take()
    (written,) = taken.of(0).values()
    assert taken.seqs == {0} and taken.of(0).keys() == {"1"} and taken.of(1) == {}
    assert (written.run, written.seq, written.count) == (1, 0, 1)


def test_only_the_last_batch_of_a_writer_is_kept():
    paper = Paper()
    Driver(paper).run()
    taken = ledger(paper).take()
    assert {writer: each.seq for writer, each in taken.written.items()} == {"0": 2, "1": 2}
    assert taken.of(1) == {}, "writer 0 had nothing to write in batch 1, writer 1 wrote again since"


def test_a_driver_that_was_superseded_does_not_take_the_ledger_again():
    paper = Paper()
    mine, other = ledger(paper), ledger(paper)
    run = mine.take().run
    assert mine.take(run).run == 2, "nobody else did: a restart of the same driver"
    other.take()
    with pytest.raises(Superseded, match=r"another driver runs 'totals' now \(its start 3, this one's 2\)"):
        mine.take(2)
    with pytest.raises(Superseded):
        ledger(paper).take(own_run=1)


def test_a_driver_that_failed_in_the_middle_of_taking_is_not_superseded_by_itself():
    """The broker was away when the run was written already."""
    paper = Paper()
    mine = ledger(paper, Faults())
    first = mine.take()
    points = len(mine._clients.faults.points)
    mine._clients.faults._fail = {points + 17: Failure(-1, "gone")}
    with pytest.raises(Exception, match="gone"):
        mine.take(first.run)
    assert mine.last_run() == 2, "the failure must come behind the run"
    assert mine.take(first.run).run == 3


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_an_open_note_of_one_seat_does_not_hide_that_of_another(monkeypatch, isolation):
    """A process died while it sat down; another that sat down after it is still writing for the old driver. Seats are read uncommitted,
    since a reader of committed notes would see neither, and both would write."""
    monkeypatch.setattr(module, "read_to_end", lambda *args, **kw: read_to_end(*args, **_with(kw, isolation)))
    paper = Paper()
    old = Driver(paper)
    old.start()
    paper.offer(0)
    with pytest.raises(Crash):
        paper.worker(_dies_while_it_sits_down()).write(arrow(BATCHES[0][0]), old.order(0), 0)
    assert paper.broker.open_transactions() == ["u1.totals.seat.seat2"]

    def rows():
        yield from arrow(BATCHES[0][1])
        Driver(paper).run(retries=0)

    old.workers[0].write(rows(), old.order(0), 1)
    assert (paper.written() == EXPECTED) is (isolation == "read_uncommitted")


def _with(settings: dict, isolation: str) -> dict:
    return {**settings, "isolation": isolation} if "isolation" in settings else settings


def _dies_while_it_sits_down() -> Faults:
    """At the commit of the note."""
    driver = Driver(Paper())
    driver.run()
    return Faults(crash_at=driver.workers[0].faults.points.index("producer.commit_transaction/request") + 1)


def test_seats_are_forgotten_once_they_are_fenced():
    paper = Paper()
    Driver(paper, seed=1).run()
    assert all(value == b"1" for value in seats(paper).values()) and seats(paper)
    ledger(paper).take()
    assert set(seats(paper).values()) == {None}


def test_closing_leaves_no_transaction_open():
    """A driver gives up while the transaction of a dead worker is open."""
    paper = Paper()
    probe = Driver(Paper())
    probe.run()
    driver = Driver(paper, [paper.worker(Faults(crash_at=len(probe.workers[0].faults.points) - 2))])
    with pytest.raises(Unavailable, match="a task died"):
        driver.run(retries=0)
    assert paper.broker.open_transactions() == ["u1.totals.seat.seat1"]
    driver.ledger.close()
    assert paper.broker.open_transactions() == []


def test_closing_leaves_the_seats_of_a_driver_that_took_over_alone():
    paper = Paper()
    old, new = Driver(paper), Driver(paper)
    old.start()
    new.start()
    paper.offer(0)
    new.batch(0)
    old.ledger.close()
    paper.commit(0)
    new.work()
    assert {outcome.how for outcome in new.outcomes} == {"written", "nothing"}
    new.ledger.close()
    paper.assert_exact()


def test_a_batch_that_gives_other_rows_when_repeated_is_reported():
    paper = Paper()
    driver = Driver(paper)
    driver.start()
    paper.offer(0)
    driver.batch(0)
    before = paper.written()
    paper.batches = (((("a0", "a1"), ("a9",)), (("b0",),)), *BATCHES[1:])
    with pytest.raises(PipelineError, match=r"3 rows with checksum .* before, now 3 with"):
        Driver(paper).run()
    assert paper.written() == before


def test_a_ledger_of_a_newer_whorl_is_refused():
    paper = Paper()
    writing = Transactions(MemoryClients(paper.broker).transactional("newer"))
    writing.init()
    writing.begin()
    writing.produce(LEDGER, orjson.dumps({"version": 2, "run": 5}), RUN_KEY, RUN)
    writing.commit()
    with pytest.raises(WorldError, match="written in format 2, this Whorl knows 1"):
        ledger(paper).take()


def test_a_ledger_that_kafka_aborts_again_and_again_is_unavailable():
    class Always(Faults):
        def reach(self, point):
            super().reach(point)
            aborted = Failure(55, "aborted", requires_abort=True)
            return aborted if point == "producer.commit_transaction" else None

    with pytest.raises(Unavailable, match="the ledger 'ledger' cannot be written: aborted"):
        ledger(Paper(), Always()).take()


def test_written_survives_its_bytes():
    written = Written(run=3, seq=7, count=2, checksum=2**32 - 1)
    assert Written.decode(written.encode()) == written
