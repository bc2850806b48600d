from __future__ import annotations

import pytest
from bench.failures import TooSlow
from bench.measure import Sample, growth_per_minute, ratio, steady_rate

from bench import records


def test_the_rate_leaves_out_the_warm_up_and_the_time_after_the_last_record() -> None:
    slow_start = [Sample(0, 0), Sample(10, 20), Sample(11, 25)]
    samples = [*slow_start, Sample(12, 50), Sample(13, 75), Sample(14, 100), Sample(20, 100)]
    assert steady_rate(samples) == 25


def test_a_run_that_is_over_before_it_is_warm_has_no_rate() -> None:
    with pytest.raises(TooSlow, match="--records"):
        steady_rate([Sample(0, 0), Sample(1, 100), Sample(2, 100)])


def test_ratios_are_of_medians() -> None:
    assert ratio([10, 1000, 20], [5, 10, 1]) == 4


def test_growth_is_per_minute() -> None:
    assert growth_per_minute([(0, 100), (30, 101), (60, 102)]) == pytest.approx(2)
    assert growth_per_minute([(0, 100)]) == 0


def test_json_records_keep_what_the_filter_should() -> None:
    amounts = [float(value.split(b'"amount": ')[1].split(b",")[0]) for _, value in records.json(3000)]
    assert sum(amount > 250 for amount in amounts) == records.kept(3000)


def test_totals_are_those_of_the_amounts() -> None:
    due = records.totals(5000, 10, records.TEXT)
    for key, total in due.items():
        amounts = [int(value) for name, value in records.amounts(5000, 10, records.TEXT) if name == key]
        assert total == b"%d,%d" % (len(amounts), sum(amounts))
    assert len(due) == 10
