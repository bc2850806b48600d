"""Backpressure, for any work: bounded below, never higher for slower work, and soon as long as it should take."""

from __future__ import annotations

from hypothesis import assume, example, given
from hypothesis import strategies as st

from whorl.pace import Pace, far

SECONDS, RECORDS = st.floats(1e-4, 100), st.integers(0, 10**6)
STEPS = st.lists(st.tuples(RECORDS, SECONDS), max_size=30)


@given(STEPS, st.floats(0.01, 10), st.floats(1, 1000))
def test_it_never_falls_below_the_lowest(steps: list[tuple[int, float]], interval: float, lowest: float) -> None:
    pace = Pace(interval, lowest)
    for records, seconds in steps:
        pace = pace.after(records, seconds)
        assert pace.rate is None or pace.rate >= lowest
        assert pace.most is None or pace.most >= 1


@given(st.floats(10, 1e6), st.integers(1, 10**6), SECONDS, SECONDS)
def test_slower_work_never_makes_it_faster(rate: float, records: int, one: float, other: float) -> None:
    pace = Pace(1.0, 1.0, rate)
    slow, fast = pace.after(records, max(one, other)), pace.after(records, min(one, other))
    assert slow.rate is not None and fast.rate is not None and slow.rate <= fast.rate


@example(interval=0.125, overhead=0.4375, each=0.00390625, start=1)  # from a single record up
@given(st.floats(0.05, 5), st.floats(0, 0.5), st.floats(1e-6, 1e-2), st.integers(1, 6))
def test_it_comes_to_take_about_the_interval(interval: float, overhead: float, each: float, start: int) -> None:
    """Of work with a fixed cost, below half of the interval, and one for each record, behind which there is always more."""
    cost = overhead * interval
    assume(interval > 20 * each)
    pace, seconds = Pace(interval, 1.0, rate=10.0**start), 0.0
    for _ in range(60):
        assert pace.most is not None
        seconds = cost + pace.most * each
        pace = pace.after(pace.most, seconds)
    assert 0.5 * interval <= seconds <= 1.1 * interval


def test_what_is_few_and_fast_tells_nothing() -> None:
    assert Pace(1.0, 1.0).after(5, 0.5) == Pace(1.0, 1.0)
    assert Pace(1.0, 1.0, 100.0).after(5, 0.5).rate == 100.0
    assert Pace(1.0, 1.0).after(0, 5.0).rate is None


def test_far() -> None:
    assert far(None, 5, 2) and not far(None, None, 2) and not far(10, 19, 2) and far(21, 10, 2)
