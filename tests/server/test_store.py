from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.server.helpers_supervision import record_of

from whorl.errors import Superseded, WorldError
from whorl.server.records import MOVES, JobRecord
from whorl.server.schemas import Failure, JobStatus, Operation, OperationStatus
from whorl.server.store import Store


def taken(path: Path) -> Store:
    store = Store(path)
    store.take()
    return store


def test_jobs_are_found_again_in_their_order(tmp_path: Path) -> None:
    store = taken(tmp_path / "jobs.db")
    for id in ("c", "a", "b"):
        store.add(record_of(id))
    store.put(record_of("a").changed(reason="waits"))
    store.delete("b")
    store.close()
    again = taken(tmp_path / "jobs.db")
    assert [(job.id, job.reason) for job in again.jobs()] == [("c", ""), ("a", "waits")]


def test_a_leader_that_was_superseded_writes_no_more(tmp_path: Path) -> None:
    old = taken(tmp_path / "jobs.db")
    old.add(record_of("a"))
    new = taken(tmp_path / "jobs.db")
    new.put(record_of("a").changed(reason="new"))
    with pytest.raises(Superseded, match="another job server leads"):
        old.put(record_of("a").changed(reason="old"))
    with pytest.raises(Superseded):
        old.add(record_of("b"))
    assert old.job("a") == record_of("a")
    assert [job.reason for job in taken(tmp_path / "jobs.db").jobs()] == ["new"]


def test_a_full_disk_fails_the_change_and_loses_nothing(tmp_path: Path) -> None:
    store = taken(tmp_path / "jobs.db")
    store.add(record_of("a"))
    pages = store._sql.execute("PRAGMA page_count").fetchone()[0]
    store._sql.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(WorldError, match=r"job store .* fails: database or disk is full"):
        store.put(record_of("a").changed(reason="x" * 100_000))
    assert store.job("a") == record_of("a")
    store._sql.execute("PRAGMA max_page_count = 1000000")
    store.put(record_of("a").changed(reason="y" * 100_000))
    store.close()
    assert taken(tmp_path / "jobs.db").jobs()[0].reason == "y" * 100_000


def test_a_store_that_is_no_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "jobs.db").write_bytes(b"not a database at all, but a file of some length" * 100)
    with pytest.raises(WorldError, match="file is not a database"):
        Store(tmp_path / "jobs.db")


def test_failures_are_kept_newest_first_and_not_for_ever(tmp_path: Path) -> None:
    store = taken(tmp_path / "jobs.db")
    store.add(record_of("a"))
    for number in range(0, 600, 100):
        store.add_failures("a", [Failure(at=n, component="c", error=str(n)) for n in range(number, number + 100)])
    assert [failure.error for failure in store.failures("a")] == [str(n) for n in range(599, 99, -1)]


def test_operations_are_found_by_job_and_id(tmp_path: Path) -> None:
    store = taken(tmp_path / "jobs.db")
    for number in range(3):
        operation = Operation(id=f"o{number}", job="a", kind="stop", status=OperationStatus.RUNNING, begun=number)
        store.put_operation(operation)
    assert [each.id for each in store.operations("a")] == ["o2", "o1", "o0"]
    assert store.operation("o1") == store.operations()[1]
    assert store.operation("o9") is None


@pytest.mark.parametrize("before", JobStatus)
@pytest.mark.parametrize("after", JobStatus)
def test_a_job_makes_only_the_moves_of_the_drawing(before: JobStatus, after: JobStatus) -> None:
    record: JobRecord = record_of("a").changed(status=before)
    if after is before or after in MOVES[before]:
        assert record.moved(after).status is after
    else:
        with pytest.raises(WorldError, match=f"cannot go from {before} to {after}"):
            record.moved(after)


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    """As a standby does: it reads while another writes."""
    store = taken(tmp_path / "jobs.db")
    store.add(record_of("a"))
    with sqlite3.connect(tmp_path / "jobs.db") as other:
        assert other.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
