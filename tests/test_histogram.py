"""Percentiles out of buckets, beside those of the numbers themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whorl.histogram import PERCENTILES, Recent, bucket_of, middle_of, percentile, percentiles, together

TIMES = st.lists(st.floats(0, 1e7), min_size=1, max_size=200)


def filled(times: list[float]) -> dict[int, float]:
    recent = Recent(lambda: 0.0)
    for ms in times:
        recent.add(ms)
    return recent.buckets()


@given(TIMES)
def test_percentiles_are_right_within_five_percent_and_a_half(times: list[float]) -> None:
    buckets = filled(times)
    for share in PERCENTILES:
        exact = sorted(times)[max(-(-len(times) * share // 100) - 1, 0)]
        assert abs(percentile(buckets, share) - exact) <= 0.5 + 0.05 * exact


@given(TIMES, TIMES)
def test_two_add_up(one: list[float], other: list[float]) -> None:
    assert together((filled(one), filled(other))) == filled(one + other)


@given(st.floats(0, 1e9))
def test_a_bucket_holds_its_middle(ms: float) -> None:
    assert bucket_of(middle_of(bucket_of(ms))) == bucket_of(ms)


def test_nothing_has_no_percentiles() -> None:
    assert percentiles({}) == {}
    assert list(percentiles(filled([3.0]))) == ["p50", "p95", "p99"]
    assert bucket_of(-5) == 0


def test_what_is_long_ago_is_forgotten() -> None:
    now = [0.0]
    recent = Recent(lambda: now[0], window=10)
    recent.add(1)
    now[0] = 11
    recent.turn()
    recent.add(100)
    assert len(recent.buckets()) == 2
    now[0] = 21.5
    assert list(recent.buckets()) == [bucket_of(100)], "nobody has turned it yet"
    now[0] = 22
    recent.turn()
    assert list(recent.buckets()) == [bucket_of(100)]
    now[0] = 41
    assert list(recent.buckets()) == []
    recent.turn()
    assert recent.buckets() == {}
