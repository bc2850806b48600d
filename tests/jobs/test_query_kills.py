"""kill -9 of a query's driver at every numbered step, of its worker and of the broker; an independent consumer counts what came out.

Every point of the protocol is crashed in tests/query/test_ledger_crashes.py; here each step dies once for real.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, count_committed, eventually, judge

from whorl.broker import Broker

Start = Callable[..., Running]
Query = tuple[Path, str, str]
STEPS = (
    ("1 take", "2 fence"),
    ("3 compare", "offsets logged"),
    ("4 sit down", "6 drain"),
    ("7 one of two committed", "7 committed", "8 mirror"),
)


def crash_at(step: str, mark: Path) -> dict[str, str]:
    folder = Path(__file__).parent / "crash"
    return {"PYTHONPATH": str(folder), "WHORL_TEST_CRASH": step, "WHORL_TEST_CRASHED": str(mark)}


@pytest.mark.parametrize("steps", STEPS, ids=" and ".join)
def test_the_driver_dies_at_every_step(
    broker: Broker, whorl_run: Start, query: Query, tmp_path: Path, steps: tuple[str, ...]
) -> None:
    file, source, sink = query
    feed = Feed(broker.address, source)
    for number, step in enumerate(steps):
        feed.write(400)
        running = whorl_run(file, env=crash_at(step, tmp_path / f"crashed-{number}"))
        assert running.wait(150) == -signal.SIGKILL, f"{step}: {running.output}"
    feed.stop()
    last = whorl_run(file, "--until-caught-up")
    assert last.wait(150) == 0, last.output
    assert judge(broker.address, sink, feed.counts) == CLEAN


@pytest.mark.long
def test_a_worker_and_the_broker_die(broker: Broker, whorl_run: Start, query: Query, tmp_path: Path) -> None:
    file, source, sink = query
    feed = Feed(broker.address, source)
    feed.write(400)
    running = whorl_run(file, env=crash_at("worker", tmp_path / "crashed"))
    eventually(lambda: count_committed(broker.address, sink) == 400, within=120, what="goes on without the worker")
    assert (tmp_path / "crashed").exists()

    feed.start()
    eventually(lambda: count_committed(broker.address, sink) > 400, within=120)
    broker.kill()
    broker.restart()
    before = count_committed(broker.address, sink)
    eventually(lambda: count_committed(broker.address, sink) > before, within=150, what="goes on with the broker")
    feed.stop()
    assert running.stop() == 0, running.output
    last = whorl_run(file, "--until-caught-up")
    assert last.wait(150) == 0, last.output
    assert judge(broker.address, sink, feed.counts) == CLEAN
