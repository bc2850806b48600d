"""What a source with a `max_rate` may be read of, and that a task which may read nothing waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from whorl.tasks.lanes import Lanes
from whorl.testing import PipelineHarness

PIPELINE = """
name: slow
sources:
  in: {type: kafka, topic: in, max_rate: 2, schema: {n: long}}
operators:
  - {id: all, type: filter, where: n >= 0}
sinks:
  out: {type: kafka, topic: out, format: json}
"""


def test_without_a_loop_too_a_task_that_may_read_nothing_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the harness goes on when somebody waits, and only then."""
    (tmp_path / "slow.yaml").write_text(PIPELINE)
    harness = PipelineHarness(tmp_path / "slow.yaml")
    harness.send("in", [{"n": n} for n in range(5)])
    began, looks, read = harness.clock(), 0, Lanes.read

    def counted(self: Lanes, most: int, timeout: float) -> list[object]:
        nonlocal looks
        looks += 1
        assert looks < 5000, "it looks again and again, and no time passes"
        return read(self, most, timeout)

    monkeypatch.setattr(Lanes, "read", counted)
    harness.run()
    assert [row["n"] for row in harness.sink("out") if row] == list(range(5))
    assert 2.0 <= harness.clock() - began < 3.0
