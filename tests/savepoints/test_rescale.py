"""A rescale that fails changes nothing, in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers_life import SESSION, Board

from whorl.errors import WorldError
from whorl.jobs.interlude import Interlude
from whorl.savepoints.life import NewLife
from whorl.tasks.control import Rescale
from whorl.tasks.driver import Driver
from whorl.tasks.register import Registration, read_registration
from whorl.testing import PipelineHarness
from whorl.testing.memory import Faults, MemoryClients

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
