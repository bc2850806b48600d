"""What happens beside the records of an operator with state: timers that fail, values that expire, inputs that fall silent."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from whorl import Context, KeyedOperator, Row, ValueState
from whorl.kafka.reading import read_to_end
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.stuck import running_operator
from whorl.state.backend import MemoryBackend, Meta
from whorl.state.codec import address
from whorl.state.partition import LpState
from whorl.state.timers import Timer
from whorl.tasks.signals import Figures, Orders, timer_position
from whorl.tasks.silence import Silence
from whorl.testing import ManualClock, OperatorHarness, PipelineHarness
from whorl.testing.memory import MemoryClients

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
PIPELINE = """
name: late
sources:
  in: {{type: kafka, topic: in, key: who, schema: {{who: string, at: timestamp}}, watermark: {{column: at, delay: 0s}}}}
operators:
  - {{id: state, type: python, class: test_late_matters.{operator}, key: who, from: in, on_error: {on_error}}}
sinks:
  out: {{type: kafka, topic: out, from: state}}
settings: {{state: {{backend: memory}}, commit_records: 2, bulk_records: 2}}
"""


class Alarm(KeyedOperator):
    rung = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        context.timers.at(record["at"] + timedelta(seconds=5))

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        self.rung.set(1)
        context.emit({"who": key, "rung": True})
        if key == "bad":
            raise ValueError("this one never rings")


class Brief(KeyedOperator):
    seen = ValueState(int, ttl="10s", ttl_time="event")

    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit({"who": key, "seen": self.seen.update(lambda before: (before or 0) + 1)})


def harness(
    folder: Path, operator: str, on_error: str = "dead_letter", sink: str = "{type: kafka, topic: out, from: state}"
) -> PipelineHarness:
    file = folder / "late.yaml"
    text = PIPELINE.format(operator=operator, on_error=on_error)
    file.write_text(text.replace("{type: kafka, topic: out, from: state}", sink))
    return PipelineHarness(file)


def rows(*given: tuple[str, int]) -> list[Row]:
    return [{"who": who, "at": NOON + timedelta(seconds=second)} for who, second in given]


def test_what_a_timer_emits_has_no_partition_to_keep(tmp_path: Path) -> None:
    late = harness(tmp_path, "Alarm", sink="{type: list, from: state}")
    late.send("in", rows(("good", 1), ("good", 60)))
    late.run()
    assert late.sink("out") == [{"who": "good", "rung": True}]


def test_what_a_timer_of_the_future_leaves_has_the_present(tmp_path: Path) -> None:
    """Brokers refuse records that are hours ahead, and event time may be years ahead."""
    late, years = harness(tmp_path, "Alarm"), 100 * 365 * 86400
    late.send("in", rows(("good", 0), ("bad", years), ("good", years), ("good", years + 60)))
    late.run()
    first, second = (entry.timestamp for entry in late.broker.records("out"))
    assert first == (NOON + timedelta(seconds=5)).timestamp() * 1000
    (letter,) = late.broker.records("late.dead")
    assert max(second, letter.timestamp) <= time.time() * 1000


@pytest.mark.parametrize(("on_error", "dead"), [("dead_letter", 1), ("skip", 0)])
def test_a_timer_that_fails_leaves_no_trace_but_its_letter(tmp_path: Path, on_error: str, dead: int) -> None:
    late = harness(tmp_path, "Alarm", on_error)
    late.send("in", rows(("bad", 0), ("good", 1), ("good", 60)))
    late.run()
    assert late.sink("out") == [{"who": "good", "rung": True}]
    assert [(letter.operator, letter.key) for letter in late.dead()] == [("state", b"bad")] * dead
    late.send("in", rows(("good", 120)))
    late.run()
    assert len(late.sink("out")) == 2 and len(late.dead()) == dead


def test_an_order_to_skip_a_timer_hands_it_to_the_policy(tmp_path: Path) -> None:
    """Its operator never returned from it in an attempt before."""
    late = harness(tmp_path, "Alarm")
    late.send("in", rows(("a", 0), ("b", 60)))
    at = round((NOON + timedelta(seconds=5)).timestamp() * 1000)
    orders, figures = Orders(skip={timer_position(Timer(at, "state", b"a")): "state"}), Figures()
    process = late.process()
    process.start()

    def stop(timeout: float) -> None:
        late.clock.wait(timeout)
        orders.stopping = figures.committed[("in", 0)] == 2

    late.broker.idle = stop
    with late.user_code():
        process.task(late.plan.components[0], 0, orders, figures).run()
    assert late.sink("out") == []
    (letter,) = late.dead()
    assert (letter.key, letter.error) == (b"a", "TimeoutError: no answer within 30 s")


def test_the_operator_of_a_timer_that_never_returns_is_named() -> None:
    found = []

    class Stuck(KeyedOperator):
        def on_timer(self, key: str, time: datetime, context: Context) -> None:
            found.append(running_operator(sys._getframe())[0])

    step = KeyedStep(Stuck(), "stuck", bytes.decode)
    step.enter(LpState(MemoryBackend(), Meta("uid", "topic", "id")))
    step.fire(Timer(0, "stuck", b"a"))
    assert found == ["stuck"]


def test_a_timer_for_the_past_fires_at_once(tmp_path: Path) -> None:
    late = harness(tmp_path, "Alarm")
    late.send("in", rows(("b", 60), ("a", 1)))
    late.run()
    assert late.sink("out") == [{"who": "a", "rung": True}]
    alone = OperatorHarness(Alarm)
    alone.watermark(NOON + timedelta(seconds=60))
    assert alone.send("a", {"at": NOON}) == [{"who": "a", "rung": True}]


def test_what_expired_is_not_there_and_goes_from_the_changelog(tmp_path: Path) -> None:
    late = harness(tmp_path, "Brief")
    late.send("in", rows(("a", 0), ("a", 5)))
    late.run()
    late.send("in", rows(("b", 30), ("b", 31), ("b", 32), ("b", 33), ("a", 34)))
    late.run()
    assert [(row["who"], row["seen"]) for row in late.sink("out") if row] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3), ("b", 4), ("a", 1),
    ]  # fmt: skip
    (changelog,) = [name for name in late.broker.topics() if name.endswith(".changelog")]
    written = [
        (address(each.key()), each.value()) for each in read_to_end(MemoryClients(late.broker), [(changelog, 0)])
    ]
    deleted = [value is None for at, value in written if at and at.key == b"a"]
    assert deleted == [False, True, False]


def test_an_input_is_silent_for_longer_than_its_patience() -> None:
    clock = ManualClock()
    silence = Silence({(0, "a"): 30.0, (0, "b"): 60.0, (1, "a"): 30.0}, clock)
    clock.wait(29)
    assert list(silence.broken_off()) == []
    silence.heard(0, "b")
    clock.wait(2)
    assert list(silence.broken_off()) == [(0, "a")]
    silence.heard(0, "a")
    clock.wait(59)
    assert list(silence.broken_off()) == [(0, "a"), (0, "b")]


def test_what_is_kept_and_how_far_event_time_is_are_told(tmp_path: Path) -> None:
    late = harness(tmp_path, "Brief")
    late.send("in", rows(("a", 0), ("b", 1), ("c", 60)))
    orders, figures, process = Orders(), Figures(), late.process()
    process.start()

    def stop(timeout: float) -> None:
        late.clock.wait(timeout)
        orders.stopping = figures.state_keys == 3

    late.broker.idle = stop
    with late.user_code():
        process.task(late.plan.components[0], 0, orders, figures).run()
    told = figures.snapshot()
    assert (told["state_keys"], told["state_bytes"] > 0) == (3, True)
    assert told["watermark"] == round((NOON + timedelta(seconds=60)).timestamp() * 1000)
