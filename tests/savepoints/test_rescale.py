"""What a rescale is about, and that one that fails changes nothing; in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers_life import SESSION, Board

from whorl.config.settings import Settings
from whorl.errors import WorldError
from whorl.jobs.aside import foreseen
from whorl.jobs.interlude import Interlude
from whorl.plan import naming
from whorl.query.checkpoint import MANIFEST, Checkpoint, Manifest
from whorl.savepoints.life import NewLife
from whorl.tasks.control import Rescale
from whorl.tasks.driver import Driver
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration, read_registration
from whorl.testing import PipelineHarness
from whorl.testing.memory import Faults, MemoryBroker, MemoryClients

pytestmark = pytest.mark.usefixtures("no_checkpoints")
PIPELINE = """
name: scaled
sources: {in: {type: kafka, topic: in, key: k, schema: {k: string}}}
operators: [{id: total, type: count, key: k}]
sinks: {out: {type: kafka, topic: out}}
settings: {state: {backend: memory}}
"""


@pytest.fixture
def harness(tmp_path: Path) -> PipelineHarness:
    (tmp_path / "scaled.yaml").write_text(PIPELINE)
    harness = PipelineHarness(tmp_path / "scaled.yaml", partitions=4)
    harness.send("in", [{"k": key} for key in "abcdefa"])
    harness.run()
    return harness


def rescaled(harness: PipelineHarness, tasks: int, partitions: int) -> Registration:
    """What the register says when the driver has gone."""
    board: Any = Board(harness.broker, Faults())
    driver = Driver(board.clients, "scaled")
    try:
        Interlude(SESSION, board, driver, harness.plan.settings).carry_out(Rescale("x", tasks, partitions))
    finally:
        driver.release()
    registration = read_registration(MemoryClients(harness.broker), "scaled")
    assert registration is not None
    return registration


def test_both_numbers_at_once(harness: PipelineHarness) -> None:
    registration = rescaled(harness, 3, 2)
    assert (registration.tasks, registration.components["total"].layout.lps) == (3, 2)


def test_one_that_fails_leaves_the_number_of_tasks_too(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise WorldError("it is other state", code="verify")

    monkeypatch.setattr(NewLife, "_fill", fail)
    with pytest.raises(WorldError, match="it is other state"):
        rescaled(harness, 3, 2)
    registration = read_registration(MemoryClients(harness.broker), "scaled")
    assert registration is not None
    assert (registration.tasks, registration.components["total"].layout.lps) == (0, 4)


def with_query(folder: Path, kept: dict[str, tuple[str, ...]]) -> Any:
    """A pipeline that has run, of tasks that keep this and a query that keeps state in four partitions; as verbs know it."""
    entry = ComponentEntry(Layout(1, 2, 4), topics=("in",), kept=kept)
    registration = Registration("both", "u", None, {"copy": entry}, {"sums": QueryEntry(), "none": QueryEntry()})
    for id, state in {"sums": "state", "none": "offsets"}.items():
        checkpoint = Path(Checkpoint.path_of(str(folder), "both", "u", id))
        (checkpoint / state / "0").mkdir(parents=True)
        settings = {"spark.sql.shuffle.partitions": "4"}
        (checkpoint / MANIFEST).write_bytes(Manifest("both", id, "u", "f", (), settings=settings).encode())
    broker = MemoryBroker()
    broker.create_topic(naming.changelog_topic("both", "u", "copy"), 4)
    board = Board(broker, Faults())
    return SimpleNamespace(cluster=board, registration=registration, settings=Settings(checkpoints=str(folder)))


def test_only_what_keeps_state_is_meant_where_nothing_is_named(tmp_path: Path) -> None:
    pipeline = with_query(tmp_path, {})
    assert foreseen(pipeline, Rescale("x", 0, 3)) == {
        "copy": {"tasks": [2, 2], "partitions": [4, 4]},
        "sums": {"tasks": [0, 0], "partitions": [4, 3]},
    }
    assert foreseen(pipeline, Rescale("x", 0, 2, ("copy",)))["copy"]["partitions"] == [4, 2]
    assert list(foreseen(pipeline, Rescale("x", 1, 0))) == ["copy"]


def test_tasks_and_queries_that_keep_state_go_together(tmp_path: Path) -> None:
    shown = foreseen(with_query(tmp_path, {"copy": ()}), Rescale("x", 1, 2))
    assert shown["copy"] == {"tasks": [2, 1], "partitions": [4, 2]}
    assert shown["sums"]["partitions"] == [4, 2]


def test_where_nothing_keeps_state_one_must_be_named(tmp_path: Path) -> None:
    pipeline = with_query(tmp_path, {})
    pipeline.registration = replace(pipeline.registration, queries={})
    with pytest.raises(WorldError, match="no component of 'both' keeps state"):
        foreseen(pipeline, Rescale("x", 0, 2))
