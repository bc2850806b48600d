"""A loop in which there is ever more to do is told from one that has much to do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.config.settings import Restart
from whorl.flow.check import checked
from whorl.jobs.runaways import Runaway, Runaways
from whorl.plan.planner import make_plan
from whorl.tasks.control import Status
from whorl.tasks.signals import Figures
from whorl.tasks.watch import Watch

PIPELINE = """
name: demo
sources:
  in: {type: kafka, topic: pairs, key: a, schema: {a: string, b: string}}
operators:
  - {id: spread, type: count, key: a, from: [in, spread], on_runaway: stop}
sinks:
  out: {type: kafka, topic: done}
"""


def looked(folder: Path, figures: Iterable[tuple[int, int, int]]) -> list[Runaway]:
    """What is found if (sent, messages, read) are these, every three seconds."""
    (folder / "demo.yaml").write_text(PIPELINE)
    loaded = load(folder / "demo.yaml")
    runaways, watch, found = Runaways(make_plan(checked(loaded), loaded.settings)), Watch(Restart()), []
    watch.expect("spread", 1, 1)
    for number, (sent, messages, read) in enumerate(figures, 1):
        told = Figures(sent=sent, messages=messages, read=read).snapshot()
        watch.take([Status("uid", "spread", 1, 0, 0, "here", 1, "running", 0.0, told)])
        found += list(runaways.found(watch, 3.0 * number))
    return found


def test_ever_more_feedback(tmp_path: Path) -> None:
    (found,) = looked(tmp_path, [(4000 * n * n, 2000 * n * n, 2000 * n * n + 5) for n in range(1, 30)])
    assert found.stops and "the loop at 'spread' runs away" in found.message and "max_rounds" in found.hint


@pytest.mark.parametrize(
    "figures",
    [
        [(90_000 * n, 80_000 * n, 110_000 * n) for n in range(1, 30)],
        [(10**6, 30_000 * n, 30_000 * n) for n in range(1, 30)],
        [(10**5 * (n % 5 + 1), 1, 1) for n in range(1, 30)],
        [(2 * n, n, n) for n in range(1, 30)],
    ],
    ids=["much from outside", "less and less", "tasks that start anew", "few"],
)
def test_what_is_none(tmp_path: Path, figures: list[tuple[int, int, int]]) -> None:
    assert looked(tmp_path, figures) == []
