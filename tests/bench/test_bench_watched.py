"""The model of the recovery benchmark agrees with the operator that it is a model of, and with nothing that differs from it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench.watched import Model, Rings, Row, time_of

from whorl.operators.keyed import milliseconds
from whorl.reading.reader import StateReader
from whorl.reading.where import stores_of
from whorl.testing import PipelineHarness
from whorl.testing.memory import MemoryClients

PIPELINE = Path(__file__).parents[2] / "bench" / "pipelines" / "recovery.yaml"
SENT = dict.fromkeys(range(5), 12)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> PipelineHarness:
    for name, value in {"NAME": "watched", "SOURCE": "in", "SINK": "out"}.items():
        monkeypatch.setenv(f"BENCH_{name}", value)
    harness = PipelineHarness(PIPELINE)
    for number in range(12):
        at = [datetime.fromtimestamp(time_of(key, number) / 1000, UTC) for key in SENT]
        harness.send("source", [{"k": key, "n": number, "at": at[key]} for key in SENT])
        harness.clock.now += number % 4
        harness.run()
    return harness


def rows(harness: PipelineHarness, sink: str) -> list[Row]:
    return [row for row in harness.sink(sink) if row is not None]


def reader(harness: PipelineHarness) -> StateReader:
    clients = MemoryClients(harness.broker)
    counts = {name: len(topic.logs) for name, topic in harness.broker.topics().items()}
    return StateReader(clients, stores_of(clients, counts, "watched"), lambda: round(harness.clock() * 1000))


def model_of(given: list[Row]) -> Model:
    model = Model(SENT, dict.fromkeys(SENT, time_of(4, 11)))
    for row in given:
        model.follow(row)
    return model


def timers_of(harness: PipelineHarness) -> Rings:
    return {
        (int(entry.key), milliseconds(entry.value["time"])) for entry in reader(harness).scan("watch") if entry.is_timer
    }


def test_the_model_and_the_operator_agree(done: PipelineHarness) -> None:
    model, rings, timers = model_of(rows(done, "rows")), rows(done, "rings"), timers_of(done)
    assert rings and timers and {row["fresh"] is None for row in rows(done, "rows")} == {True, False}
    assert model.judge_rings(rings, timers) == (0, 0)
    assert model.wrong == []
    assert model.timers({(ring["k"], ring["time"]) for ring in rings}) == timers
    kept = {
        (int(entry.key), entry.state): (entry.value, entry.expires and milliseconds(entry.expires))
        for operator in ("watch", "counted")
        for entry in reader(done).scan(operator)
        if not entry.is_timer
    }
    assert model.values(round(done.clock() * 1000)) == kept


def test_what_differs_is_seen(done: PipelineHarness) -> None:
    given, rings, timers = rows(done, "rows"), rows(done, "rings"), timers_of(done)
    assert model_of(given).judge_rings(rings[:-1], timers) == (1, 0)
    assert model_of(given).judge_rings([*rings, rings[-1]], timers) == (0, 1)
    for name, value in (("seen", 99), ("recent", 99), ("fresh", 99)):
        assert model_of([*given[:-1], {**given[-1], name: value}]).wrong
    late = model_of(given)
    late.judge_rings([{**ring, "seen": 99} for ring in rings], timers)
    assert late.wrong
