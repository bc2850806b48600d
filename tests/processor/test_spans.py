"""Which records a fetch takes, for any positions and ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import WorldError
from whorl.processor.spans import Bounds, Span, first_positions, gaps, refuse_shorter, span_of, waiting

A, B, C = ("t", 0), ("t", 1), ("u", 0)
ENDS = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda two: Bounds(min(two), max(two)))
BOUNDS = st.dictionaries(st.tuples(st.sampled_from("tu"), st.integers(0, 3)), ENDS)


@given(BOUNDS, st.integers(1, 60))
def test_fetch_after_fetch_takes_every_record_once(bounds: dict[tuple[str, int], Bounds], most: int) -> None:
    positions, taken = first_positions({}, bounds, "earliest"), []
    while len(span := span_of(positions, bounds, most)):
        assert all(0 <= span.ends[place] - span.starts[place] <= most for place in bounds)
        taken += [(place, at) for place in span.filled for at in range(span.starts[place], span.ends[place])]
        positions = dict(span.ends)
    assert sorted(taken) == sorted((p, at) for p, each in bounds.items() for at in range(each.first, each.end))
    assert waiting(span, bounds) == 0


def test_a_partition_that_came_later_begins_at_its_first_record() -> None:
    bounds = {A: Bounds(0, 9), B: Bounds(2, 9), C: Bounds(0, 9)}
    assert first_positions({A: 5}, bounds, "latest") == {A: 5, B: 2, C: 9}
    assert first_positions({A: 5}, bounds, "earliest") == {A: 5, B: 2, C: 0}


def test_what_is_gone_is_counted() -> None:
    bounds = {A: Bounds(10, 20), B: Bounds(0, 5)}
    (gap,) = gaps({A: 3, B: 0}, bounds)
    assert str(gap) == "7 records of t/0 are gone: committed was 3, Kafka begins at 10"
    assert span_of({A: 3, B: 0}, bounds, 4) == Span({A: 10, B: 0}, {A: 14, B: 4})
    assert waiting(span_of({A: 3, B: 0}, bounds, 4), bounds) == 7


def test_a_topic_that_is_shorter_is_refused() -> None:
    refuse_shorter({A: 5}, {A: Bounds(0, 5)})
    with pytest.raises(WorldError, match="t/0 ends at 4, committed is 5"):
        refuse_shorter({A: 5}, {A: Bounds(0, 4)})
