from __future__ import annotations

import pytest
from bench.sequences import Verdict, judge

SENT = {0: 3, 1: 2}
RIGHT = [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)]


def test_the_same_numbers_in_order_are_clean() -> None:
    assert judge(SENT, RIGHT) == Verdict(records=5, lost=0, doubled=0, out_of_order=0)
    assert judge(SENT, RIGHT).clean


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (RIGHT[:-1], Verdict(5, 1, 0, 0)),
        ([*RIGHT, (0, 1)], Verdict(5, 0, 1, 0)),
        ([(0, 1), (0, 0), (0, 2), (1, 0), (1, 1)], Verdict(5, 0, 0, 1)),
        ([*RIGHT, (1, 2)], Verdict(5, 0, 1, 0)),
        ([*RIGHT, (7, 0)], Verdict(5, 0, 1, 0)),
        ([], Verdict(5, 5, 0, 0)),
    ],
    ids=["lost", "doubled", "out of order", "never sent", "unknown key", "nothing"],
)
def test_what_is_wrong_is_counted_as_what_it_is(seen: list[tuple[int, int]], verdict: Verdict) -> None:
    assert judge(SENT, seen) == verdict
    assert not verdict.clean
