from __future__ import annotations

import pytest

from whorl.tasks.layout import Layout, logical_partitions


@pytest.mark.parametrize(
    ("counts", "most", "lps"),
    [([4, 6], None, 6), ([4, 6], 6, 6), ([12], 5, 4), ([7], 6, 1), ([], None, 1), ([8], 99, 8)],
)
def test_logical_partitions(counts, most, lps):
    assert logical_partitions(counts, most) == lps


@pytest.mark.parametrize(
    ("counts", "most", "lps"), [([8, 12], None, 4), ([8, 12], 3, 2), ([5, 7], None, 1), ([], 2, 1)]
)
def test_logical_partitions_of_cogrouped_topics(counts, most, lps):
    assert logical_partitions(counts, most, cogroup=True) == lps


@pytest.mark.parametrize(("tasks", "lps"), [(1, 1), (2, 4), (3, 4), (4, 4), (3, 7)])
def test_every_place_has_one_task_and_every_lp_too(tasks, lps):
    layout, partitions = Layout(1, tasks, lps), {"a": 8, "b": 3, "c": 1}
    places = [place for task in range(tasks) for place in layout.places_of(task, partitions)]
    assert sorted(places) == [(topic, p) for topic, count in partitions.items() for p in range(count)]
    assert sorted(lp for task in range(tasks) for lp in layout.lps_of(task)) == list(range(lps))


def test_a_task_reads_exactly_the_places_of_its_lps():
    layout = Layout(1, 3, 5)
    for task in range(3):
        lps = {layout.lp_of(partition) for _, partition in layout.places_of(task, {"a": 20})}
        assert lps == set(layout.lps_of(task))
