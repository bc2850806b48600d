"""A task whose operator does not return: the second thread says which, on what, and ends the process."""

from __future__ import annotations

import os
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from whorl import Context, KeyedOperator, Row
from whorl.plan import naming
from whorl.state.timers import Timer
from whorl.tasks import reporter as reporting
from whorl.tasks.reporter import STUCK, Reporter
from whorl.tasks.signals import Figures, Orders, timer_position
from whorl.testing import MemoryBroker, PipelineHarness
from whorl.testing.memory import MemoryClients

PIPELINE = """
name: hangs
sources:
  in: {{type: kafka, topic: in, key: who, schema: {{who: string}}}}
operators:
  - {{id: waits, type: python, class: test_reporter.{operator}, key: who}}
sinks:
  out: {{type: kafka, topic: out}}
settings: {{state: {{backend: memory}}, timeout: 300ms}}
"""
RELEASED = threading.Event()
"""Set when the process would have ended."""


class InProcess(KeyedOperator):
    def process(self, key: str, record: Row, context: Context) -> None:
        if key == "b":
            assert RELEASED.wait(30)


class InTimer(KeyedOperator):
    def process(self, key: str, record: Row, context: Context) -> None:
        if key == "b":
            context.timers.at(1.5, clock="processing")

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        assert RELEASED.wait(30)


class InOpen(KeyedOperator):
    steps: list[str] = []
    figures: Figures

    def open(self, context: Context) -> None:
        self.steps.append(self.figures.step)

    def process(self, key: str, record: Row, context: Context) -> None:
        self.steps.append(self.figures.step)


def harness(folder: Path, operator: str) -> PipelineHarness:
    file = folder / "hangs.yaml"
    file.write_text(PIPELINE.format(operator=operator))
    made = PipelineHarness(file)
    made.send("in", [{"who": who} for who in "aba"])
    return made


def run(harness: PipelineHarness, orders: Orders, figures: Figures, made: Any) -> None:
    """A task to the end of its input; `made` gets its assignment before it begins."""
    process = harness.process()
    process.start()

    def stop(timeout: float) -> None:
        harness.clock.wait(timeout)
        orders.stopping = figures.committed.get(("in", 0)) == 3

    harness.broker.idle = stop
    with harness.user_code():
        task = process.task(harness.plan.components[0], 0, orders, figures)
        made(task.assignment)
        task.run()


class Exit:
    """In place of the end of the process: what hangs goes on, and the reporter is over."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.reporter: Reporter

    def __call__(self, code: int) -> None:
        self.codes.append(code)
        self.reporter._over.set()
        RELEASED.set()


@pytest.fixture
def exit(monkeypatch: pytest.MonkeyPatch) -> Exit:
    RELEASED.clear()
    made = Exit()
    monkeypatch.setattr(os, "_exit", made)
    monkeypatch.setattr(reporting, "is_of_spark", lambda parent: True)
    return made


@pytest.mark.parametrize(
    ("operator", "on", "position"),
    [
        ("InProcess", "on in/0/1, key b'b'", ("in", 0, 1)),
        ("InTimer", "on a timer of 1500, key b'b'", timer_position(Timer(1500, "waits", b"b"))),
    ],
)
def test_it_is_named_with_its_key_and_the_record_is_to_be_skipped(
    tmp_path: Path, exit: Exit, operator: str, on: str, position: tuple[str, int, int]
) -> None:
    hanging, control = harness(tmp_path, operator), MemoryBroker()
    for topic in (naming.control_topic("hangs"), naming.status_topic("hangs")):
        control.create_topic(topic)
    orders, figures = Orders(), Figures()

    def watched(assignment: Any) -> None:
        reporter = Reporter(assignment, 0, 0, MemoryClients(control))
        reporter.orders, reporter.figures = orders, figures
        exit.reporter = reporter
        reporter.start()

    run(hanging, orders, figures, watched)
    assert exit.codes == [STUCK]
    said = [orjson.loads(entry.value or b"") for entry in control.records(naming.status_topic("hangs"))]
    (last,) = [each for each in said if each["state"] == "failed"]
    assert f"operator 'waits' did not return within 0.3 s {on}" in last["error"]
    assert "test_reporter.py:" in last["error"]
    assert (last["stuck"]["topic"], last["stuck"]["partition"], last["stuck"]["offset"]) == position
    assert last["stuck"]["operator"] == "waits"


def test_while_an_operator_is_opened_the_step_names_it(tmp_path: Path) -> None:
    opening, figures = harness(tmp_path, "InOpen"), Figures()
    InOpen.figures, InOpen.steps = figures, []
    run(opening, Orders(), figures, lambda assignment: None)
    assert InOpen.steps == ["opening waits", *["running"] * 3]
