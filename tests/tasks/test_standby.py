"""Standbys: copies of state that follow the changelog, and how a task takes one over."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.errors import CheckFailed
from whorl.tasks import copies, standby
from whorl.tasks.assignment import Assignment
from whorl.tasks.copies import Copies
from whorl.tasks.layout import Layout
from whorl.tasks.register import read_registration
from whorl.tasks.signals import Figures, Orders
from whorl.tasks.standby import Standby
from whorl.testing import Faults, PipelineHarness
from whorl.testing.memory import BROKER_DOWN, MemoryClients

PIPELINE = """
name: followed
sources:
  payments: {{type: kafka, topic: payments, key: account, schema: {{account: string}}}}
operators:
  - {{id: count, type: count, key: account, from: payments}}
sinks:
  out: {{type: kafka, topic: out, from: count}}
settings: {{state: {{dir: {dir}, standby: {standby}}}, commit_records: 50}}
"""
ACCOUNTS = 200


@pytest.fixture
def harness(tmp_path: Path) -> PipelineHarness:
    """One task that has counted each account once."""
    file = tmp_path / "followed.yaml"
    file.write_text(PIPELINE.format(dir=tmp_path / "state", standby=1))
    made = PipelineHarness(file)
    pay(made)
    return made


def pay(harness: PipelineHarness) -> None:
    harness.send("payments", [{"account": f"a{n}"} for n in range(ACCOUNTS)])
    harness.run()


def counts(harness: PipelineHarness) -> set[int]:
    latest = {row["account"]: row["count"] for row in harness.sink("out") if row}
    assert len(latest) == ACCOUNTS
    return set(latest.values())


def assignment(harness: PipelineHarness) -> Assignment:
    registered = read_registration(MemoryClients(harness.broker), "followed")
    assert registered is not None
    return harness.ground().assignment(
        harness.plan.components[0], registered.uid, registered.components["count"].layout
    )


def follow(harness: PipelineHarness, faults: Faults | None = None) -> Figures:
    """What a standby does until it has read all."""
    orders, figures = Orders(), Figures()

    def look(timeout: float) -> None:
        orders.stopping = figures.step == "following"

    harness.broker.idle = look
    clients = MemoryClients(harness.broker, faults or Faults())
    Standby(assignment(harness), 1, clients, orders, figures, harness.clock, harness.clock).run()
    return figures


def restored(harness: PipelineHarness) -> int:
    """Runs the task once more, and tells how many records of the changelog it read first."""
    process, orders, figures = harness.process(), Orders(), Figures()

    def look(timeout: float) -> None:
        harness.clock.wait(timeout)
        orders.stopping = figures.step == "running"

    harness.broker.idle = look
    process.start()
    process.task(harness.plan.components[0], 0, orders, figures).run()
    process.end()
    return int(figures.snapshot()["readings"]["state"]["records"])


def folders(harness: PipelineHarness) -> dict[str, Path]:
    return {path.name: path for path in Path(harness.plan.settings.state.dir or "").glob("*/*/*/*") if path.is_dir()}


def test_a_task_without_its_copy_goes_on_from_that_of_a_standby(harness: PipelineHarness) -> None:
    assert follow(harness).read > ACCOUNTS
    assert sorted(folders(harness)) == ["0", "0.1"]
    shutil.rmtree(folders(harness)["0"])
    assert restored(harness) <= 2, "the positions that the start has written"
    pay(harness)
    assert counts(harness) == {2}


def test_without_a_standby_all_of_it_is_read(harness: PipelineHarness) -> None:
    shutil.rmtree(folders(harness)["0"])
    assert restored(harness) > ACCOUNTS


def test_a_standby_goes_on_from_its_own_copy(harness: PipelineHarness) -> None:
    first = follow(harness).read
    pay(harness)
    again = follow(harness).read
    assert 0 < again <= first + 2
    assert follow(harness).read == 0


def test_the_copy_that_is_furthest_is_taken(harness: PipelineHarness) -> None:
    follow(harness)
    pay(harness)
    assert restored(harness) <= 2, "its own"
    shutil.copytree(folders(harness)["0.1"], old := folders(harness)["0.1"].with_name("0.2"))
    follow(harness)
    shutil.rmtree(folders(harness)["0"])
    assert restored(harness) <= 2, "that of the standby, not the older one"
    assert old.exists(), "one is left for the standby"


def test_a_ruined_copy_is_made_anew(harness: PipelineHarness) -> None:
    follow(harness)
    for name in ("0", "0.1"):
        (folders(harness)[name] / "data.mdb").write_bytes(b"\1" * 8192)
    pay(harness)
    assert counts(harness) == {2}


@contextmanager
def following(harness: PipelineHarness) -> Iterator[Figures]:
    """A standby at work, in a thread."""
    orders, figures = Orders(), Figures()
    harness.broker.idle = lambda timeout: time.sleep(0.005)
    clients = MemoryClients(harness.broker)
    thread = threading.Thread(target=Standby(assignment(harness), 1, clients, orders, figures).run)
    thread.start()
    try:
        yield figures
    finally:
        orders.stopping = True
        thread.join(10)
        assert not thread.is_alive()


def eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_standby_lets_go_of_a_copy_that_the_owner_asks_for(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_WORTH_ASKING", 1)
    monkeypatch.setattr(standby, "_STORE_EVERY", 0.05)
    end = harness.broker.topics()[assignment(harness).changelog].logs[0].last_stable
    mine = Copies(assignment(harness), lambda lp: end, lambda: round(time.time() * 1000))
    shutil.rmtree(folders(harness)["0"])
    with following(harness) as figures:
        eventually(lambda: bool(folders(harness)) and (folders(harness)["0.1"] / "standby").exists())
        read = figures.read
        taken = mine.take(0)
        assert taken.meta is not None and taken.meta.position == end and taken.folder.name == "0.1"
        eventually(lambda: figures.read >= 2 * read and figures.step == "following")
        taken.close()
    assert sorted(folders(harness)) == ["0.1", "0.2"]


def test_one_that_does_not_let_go_is_not_waited_for_long(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_WORTH_ASKING", 1)
    monkeypatch.setattr(copies, "_PATIENCE", 0.05)
    follow(harness)
    shutil.rmtree(folders(harness)["0"])
    hung = Copies(assignment(harness), lambda lp: 10_000, lambda: round(harness.clock() * 1000)).take_second(0)
    try:
        assert restored(harness) > ACCOUNTS
    finally:
        hung.close()


def test_trouble_is_told_and_passes(harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[str] = []
    monkeypatch.setattr(Standby, "_rest", lambda self, trouble: rests.append(trouble))

    class Once(Faults):
        def reach(self, point: str):  # type: ignore[no-untyped-def]
            super().reach(point)
            return BROKER_DOWN if point == "consumer.get_watermark_offsets" and not rests else None

    assert follow(harness, Once()).read > ACCOUNTS
    assert len(rests) == 1 and rests[0].startswith("KafkaException")


def test_it_ends_when_another_layout_is_in_force(harness: PipelineHarness) -> None:
    old = assignment(harness)
    pay(harness)
    Standby(old, 1, MemoryClients(harness.broker), Orders(), figures := Figures()).run()
    assert figures.step == "joining" and figures.read == 0


def test_each_partition_has_its_standbys_and_never_in_the_place_of_its_owner(harness: PipelineHarness) -> None:
    settings = harness.plan.settings
    settings = settings.model_copy(update={"state": settings.state.model_copy(update={"standby": 2})})
    laid = replace(assignment(harness), layout=Layout(1, 4, 8), settings=settings)
    assert laid.standbys == 8
    for lps in (range(4, 8), range(8, 12)):
        assert sorted(lp for number in lps for lp in laid.followed_by(number)) == list(range(8))
        assert all(number % 4 != lp % 4 for number in lps for lp in laid.followed_by(number))


def test_it_needs_a_disk(tmp_path: Path) -> None:
    file = tmp_path / "followed.yaml"
    file.write_text(PIPELINE.format(dir="x, backend: memory", standby=1))
    with pytest.raises(CheckFailed, match="needs copies on disk"):
        PipelineHarness(load(file))
