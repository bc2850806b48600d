"""What a task tells of itself while it works: never a position without the timers that were set on the way there."""

from __future__ import annotations

from collections.abc import ItemsView
from pathlib import Path
from typing import Any

import pytest

from whorl import Context, KeyedOperator, Row
from whorl.tasks.signals import Figures
from whorl.testing import PipelineHarness

PIPELINE = """
name: late
sources:
  in: {type: kafka, topic: in, key: who, schema: {who: string}}
operators:
  - {id: wait, type: python, class: test_signals.Waiting, key: who, from: in}
sinks:
  out: {type: kafka, topic: out, from: wait}
settings: {state: {backend: memory}}
"""


class Waiting(KeyedOperator):
    def process(self, key: str, record: Row, context: Context) -> None:
        context.timers.after("1h")


class Between(dict[Any, Any]):
    """A commit comes while it is read."""

    def __init__(self, figures: Figures) -> None:
        super().__init__({("in", 0): 1})
        self.figures = figures

    def items(self) -> ItemsView[Any, Any]:
        self.figures.timers, self.figures.committed = 1, {("in", 0): 2}
        return super().items()


def test_a_snapshot_in_the_middle_of_a_commit() -> None:
    figures = Figures()
    figures.committed = Between(figures)
    told = figures.snapshot()
    assert told["timers"] == 1 and told["positions"] == {"in": {"0": 1}}


def test_timers_are_told_before_the_positions_that_set_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late.yaml").write_text(PIPELINE)
    harness = PipelineHarness(tmp_path / "late.yaml")
    harness.send("in", [{"who": "a"}])
    told: list[tuple[int, int]] = []

    def noting(self: Figures, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "committed" and value:
            told.append((max(value.values()), self.timers))

    monkeypatch.setattr(Figures, "__setattr__", noting)
    harness.run()
    assert (1, 1) in told and (1, 0) not in told
