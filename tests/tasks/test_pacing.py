"""Pace of tasks: no partition gives more than its rate, no topic waits behind another, bulks take as long as they should; and latency."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whorl.config.settings import Settings
from whorl.histogram import Recent, percentiles
from whorl.tasks.inlet import Inlet
from whorl.tasks.lanes import dealt
from whorl.tasks.latency import Latency
from whorl.tasks.pacing import PacedInlet
from whorl.testing import PipelineHarness
from whorl.testing.memory import MemoryBroker, MemoryClients

PIPELINE = """
name: paced
sources:
  crowd: {type: kafka, topic: crowd, schema: {n: long}}
  few: {type: kafka, topic: few, schema: {n: long}}
operators:
  - {id: all, type: python, from: [crowd, few], function: test_pacing.seen}
sinks:
  out: {type: kafka, topic: out, from: all}
settings: {SETTINGS}
"""
SEEN: list[str] = []
CLOCK: list[Any] = []


def seen(row: dict[str, Any], metadata: Any) -> dict[str, Any]:
    SEEN.append(metadata.topic)
    for clock in CLOCK:
        clock.wait(0.01)
    return row


def harness(folder: Path, **settings: Any) -> PipelineHarness:
    file = folder / "paced.yaml"
    given = ", ".join(f"{name}: {str(value).lower()}" for name, value in settings.items())
    file.write_text(PIPELINE.replace("SETTINGS", given))
    SEEN.clear()
    CLOCK.clear()
    return PipelineHarness(file, partitions=2, tasks=1)


def test_a_topic_does_not_wait_behind_the_backlog_of_another(tmp_path: Path) -> None:
    fair = harness(tmp_path, bulk_records=10)
    fair.send("crowd", [{"n": n} for n in range(500)])
    fair.send("few", [{"n": n} for n in range(5)])
    fair.run()
    assert SEEN.count("few") == 5 and SEEN.count("crowd") == 500
    assert "few" in SEEN[:11], "it is in the first bulk"


def test_dealt_out_to_at_most_eight_lanes() -> None:
    assert dealt(["a", "b"]) == [["a"], ["b"]]
    lanes = dealt([str(n) for n in range(20)])
    assert len(lanes) == 8 and sorted(sum(lanes, []), key=int) == [str(n) for n in range(20)]  # noqa: RUF017


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("rate", [3.0, 40.0, 1000.0])
def test_no_partition_gives_more_than_its_rate(rate: float) -> None:
    clock = Clock()
    broker = MemoryBroker()
    broker.create_topic("t", 2)
    producer = MemoryClients(broker).producer()
    for n in range(6000):
        producer.produce("t", b"x", None, int(n >= 5000))  # one has five times as many
    producer.flush()
    positions = {("t", 0): 0, ("t", 1): 0}
    inlet = PacedInlet(MemoryClients(broker), "g", positions, {}).pace(rate, positions, clock)
    read: Counter[int] = Counter()
    seconds = 10
    while clock.now < seconds:
        read.update(m.partition() for m in inlet.read(50, 0.0) if m.error() is None)
        clock.now += 0.01
    for partition, there in ((0, 5000), (1, 1000)):
        due = min(rate * seconds, there)
        assert read[partition] <= due + rate * 0.25 + 50
        assert read[partition] >= min(due * 0.9 - rate * 0.25 - 1, there), (partition, read)


def test_who_paused_a_partition_resumes_it() -> None:
    clock = Clock()
    broker = MemoryBroker()
    broker.create_topic("t", 1)
    producer = MemoryClients(broker).producer()
    for _ in range(100):
        producer.produce("t", b"x", None, 0)
    producer.flush()
    inlet = PacedInlet(MemoryClients(broker), "g", {("t", 0): 0}, {}).pace(40.0, [("t", 0)], clock)
    assert len(inlet.read(100, 0)) == 10
    inlet.pause(("t", 0))
    clock.now = 5.0
    assert inlet.read(100, 0) == []
    inlet.resume(("t", 0))
    assert len(inlet.read(100, 0)) == 11  # a window's share, and one that was left over


def test_rates_go_with_tasks_too(tmp_path: Path) -> None:
    paced = harness(tmp_path, max_rate_per_partition=100)
    paced.send("crowd", [{"n": n} for n in range(400)])
    began = paced.clock()
    paced.run()
    assert SEEN.count("crowd") == 400
    assert paced.clock() - began >= 1.5


def test_backpressure_takes_smaller_bulks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record takes 10 ms of the clock: ten of them fill the commit interval."""
    sizes: list[int] = []
    read = Inlet.read

    def noted(self: Inlet, most: int, timeout: float) -> list[Any]:
        sizes.append(most)
        return read(self, most, timeout)

    monkeypatch.setattr(Inlet, "read", noted)
    slow = harness(tmp_path, backpressure=True, min_rate=10, bulk_records=1000, fair=False)
    CLOCK.append(slow.clock)
    slow.send("crowd", [{"n": n} for n in range(2000)])
    slow.run()
    assert sizes[0] == 1000 and 5 <= sorted(sizes)[len(sizes) // 2] <= 15, sizes


def message(timestamp: int) -> Any:
    return SimpleNamespace(timestamp=lambda: (1, timestamp))


def test_a_few_records_of_a_bulk_stand_for_all() -> None:
    recent = Recent(time.monotonic)
    latency = Latency(recent)
    latency.note([message(1000 + n) for n in range(1000)])
    latency.note([message(-1), message(500)])
    assert recent.buckets() == {}, "not before the commit"
    latency.committed(2000.0)
    assert sum(recent.buckets().values()) == pytest.approx(1001)
    assert percentiles(recent.buckets())["p50"] == pytest.approx(500, rel=0.25)
    latency.committed(9000.0)
    assert sum(recent.buckets().values()) == pytest.approx(1001), "each counts once"


def test_settings_have_their_defaults() -> None:
    settings = Settings()
    assert (settings.backpressure, settings.fair, settings.max_rate_per_partition) == (False, True, None)
