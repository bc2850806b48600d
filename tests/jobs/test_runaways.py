"""A loop in which there is ever more to do is told from one that has much to do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from whorl.cli.live import LiveView, news_of
from whorl.config.loader import load
from whorl.config.settings import Restart
from whorl.flow.check import checked
from whorl.jobs import job as jobs
from whorl.jobs.job import Job
from whorl.jobs.runaways import Runaway, Runaways
from whorl.plan.plan import Plan
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


def status(sent: int, messages: int, read: int) -> Status:
    told = Figures(sent=sent, messages=messages, read=read).snapshot()
    return Status("uid", "spread", 1, 0, 0, "here", 1, "running", 0.0, told)


def plan_of(folder: Path, action: str = "stop") -> Plan:
    (folder / "demo.yaml").write_text(PIPELINE.replace("on_runaway: stop", f"on_runaway: {action}"))
    loaded = load(folder / "demo.yaml")
    return make_plan(checked(loaded), loaded.settings)


def looked(folder: Path, figures: Iterable[tuple[int, int, int]]) -> list[Runaway]:
    """What is found if (sent, messages, read) are these, every three seconds."""
    runaways, watch, found = Runaways(plan_of(folder)), Watch(Restart()), []
    watch.expect("spread", 1, 1)
    for number, (sent, messages, read) in enumerate(figures, 1):
        watch.take([status(sent, messages, read)])
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


@pytest.mark.parametrize("action", ["warn", "stop"])
def test_what_follows(tmp_path: Path, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told once; and with `stop` the job ends with it."""
    now = 0.0
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now))
    nothing: Any = None
    queries: Any = SimpleNamespace(plan=plan_of(tmp_path, action), jobs={})
    job = Job(nothing, queries, nothing, {}, nothing, nothing, [])
    job.watch.expect("spread", 1, 1)
    for n in range(1, 30):
        now += 3.0
        job.watch.take([status(4000 * n * n, 2000 * n * n, 2000 * n * n + 5)])
        job._look_at_loops()
    (notice,) = job.notices
    assert "the loop at 'spread' runs away" in notice and "max_rounds" in notice
    assert (job.error.code if job.error else None) == ("runaway" if action == "stop" else None)
    console = Console(record=True, width=300)
    LiveView(console).show(job, {}, news_of(job))
    assert notice in console.export_text() and job.notices == []
