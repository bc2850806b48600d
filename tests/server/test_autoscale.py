from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from whorl.config.settings import Autoscale
from whorl.server.autoscale import DOWN_AFTER, REST, UP_AFTER, Now, wanted_tasks
from whorl.server.schemas import Sample

RULE = Autoscale(min=1, max=6, lag=1000)


def samples(lag: Callable[[float], int], busy: float = 0.1, seconds: int = 200) -> list[Sample]:
    return [Sample(at=float(at), lag=lag(at), busy=busy) for at in range(seconds)]


def asked(seen: list[Sample], tasks: int, scaled_at: float = 0.0, at: float = 199.0, largest: int = 16) -> int:
    return wanted_tasks(RULE, seen, Now(tasks, scaled_at, at, largest))


def test_more_when_it_is_behind_for_a_while_and_never_beyond_the_most() -> None:
    behind = samples(lambda at: 5000)
    assert [asked(behind, tasks) for tasks in (1, 2, 3, 4, 6)] == [2, 4, 6, 6, 6]
    assert asked(behind, 2, largest=3) == 3


def test_a_peak_alone_changes_nothing() -> None:
    assert asked(samples(lambda at: 5000 if at > 199 - UP_AFTER + 3 else 0), 2) == 2
    assert asked(samples(lambda at: 0 if at == 195 else 5000), 2) == 2


def test_fewer_one_by_one_when_there_is_little_to_do_for_long() -> None:
    assert asked(samples(lambda at: 0), 3) == 2
    assert asked(samples(lambda at: 0), 1) == 1
    assert asked(samples(lambda at: 0, busy=0.8), 3) == 3
    assert asked(samples(lambda at: 500), 3) == 3
    assert asked(samples(lambda at: 0 if at > 199 - DOWN_AFTER + 5 else 500), 3) == 3


def test_it_rests_after_a_change_and_forgets_what_was_before() -> None:
    behind = samples(lambda at: 5000)
    assert asked(behind, 2, scaled_at=199 - REST + 1) == 2
    assert asked(behind, 2, scaled_at=199 - REST) == 4


def test_what_is_outside_the_bounds_is_brought_in_at_once() -> None:
    assert asked([], 9) == 6
    assert wanted_tasks(Autoscale(min=2, max=4, lag=1), [], Now(1, 0.0, 1.0, 16)) == 2


def test_without_figures_nothing_changes() -> None:
    assert asked([], 2) == 2
    assert asked(samples(lambda at: 5000, seconds=5), 2) == 2


def test_it_never_swings() -> None:
    """Whatever lag does, a rescale comes at most once in its time of rest."""
    for period in (5, 20, 45, 90, 150):
        tasks, scaled_at, seen, changes = 2, 0.0, [], []
        for at in range(1200):
            lag = 5000 if at // period % 2 else 0
            seen.append(Sample(at=float(at), lag=lag, busy=0.9 if lag else 0.1))
            wanted = wanted_tasks(RULE, seen[-300:], Now(tasks, scaled_at, float(at), 16))
            if wanted != tasks:
                changes.append(at)
                tasks, scaled_at = wanted, float(at)
        assert all(b - a >= REST for a, b in pairwise(changes))
