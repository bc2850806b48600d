"""When a query starts anew with another bound, and what its records' latency comes to: from reports as Spark makes them."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.config.settings import Settings
from whorl.query.pace import least, pace_of, rate_bound
from whorl.query.progress import QueryFigures, figures_after, load_of


def paced(now: list[float], **settings: Any) -> Any:
    return pace_of(Settings(**settings), lambda: now[0])


def test_it_starts_anew_only_when_it_is_off_for_long_and_not_too_often() -> None:
    now = [0.0]
    pace = paced(now, backpressure=True, trigger="1s")
    for _ in range(2):
        pace.after(50_000, 5.0)
        assert not pace.wants_change
    pace.after(0, 0.3)  # a batch without records tells nothing
    pace.after(50_000, 5.0)
    assert pace.wants_change
    assert pace.change() == 9_000  # 50,000 in five seconds, and a tenth to spare
    for _ in range(5):
        pace.after(9_000, 4.0)
    assert not pace.wants_change, "within a minute"
    now[0] = 61
    assert pace.wants_change and pace.change() < 9_000
    for _ in range(9):
        pace.after(pace.most, 0.9)
    assert not pace.wants_change, "it takes about as long as it should"


@pytest.mark.parametrize(
    "settings", [{"trigger": "1s"}, {"backpressure": True}, {"backpressure": True, "trigger": "realtime"}]
)
def test_without_an_interval_or_the_wish_there_is_no_pace(settings: dict[str, Any]) -> None:
    pace = paced([0.0], **settings)
    for _ in range(9):
        pace.after(1_000_000, 60.0)
    assert not pace.wants_change


def test_the_rate_of_partitions_bounds_a_batch() -> None:
    assert rate_bound(Settings(), 4) is None
    assert rate_bound(Settings(max_rate_per_partition=10.0), 4) == 40
    assert rate_bound(Settings(max_rate_per_partition=10.0, trigger="500ms"), 4) == 20
    assert least(None, 5, 3) == 3 and least(None) is None


def report(batch: int, second: int, ages: list[float], records: int) -> dict[str, Any]:
    """Of a batch that began at this second of a minute, took one, and had records of these ages at its end, oldest first."""
    end = 1767225600_000 + (second + 1) * 1000
    return {
        "batchId": batch,
        "timestamp": f"2026-01-01T00:00:{second:02d}.000Z",
        "numInputRows": records,
        "durationMs": {"triggerExecution": 1000},
        "sources": [{"numInputRows": records}, {"numInputRows": 1}],
        "sink": {},
        "stateOperators": [],
        "observedMetrics": {"whorl: times of in": {"times": [end - age for age in ages], "records": records}},
    }


def test_latency_is_of_the_last_seconds() -> None:
    old = report(0, 0, [50_000.0] * 9, 1000)
    new = report(1, 30, [5000, 3000, 2000, 1500, 1000, 1000, 1000, 900, 900], 800)
    figures = figures_after(QueryFigures(), [old])
    assert figures.latency_ms["p50"] == pytest.approx(50_000, rel=0.05)
    latency = figures_after(figures, [new]).latency_ms
    assert latency["p50"] == pytest.approx(1000, rel=0.05)
    assert latency["p99"] == pytest.approx(5000, rel=0.05) or latency["p99"] == pytest.approx(3000, rel=0.05)
    assert load_of(new) == (800, 1.0)
    empty = {**new, "batchId": 2, "observedMetrics": {"whorl: times of in": {"times": None, "records": 0}}}
    assert figures_after(figures_after(figures, [new]), [empty]).latency_ms == latency
