from __future__ import annotations

import pytest

from whorl.state.times import UNKNOWN, Times


def test_the_watermark_is_the_lowest_and_waits_for_inputs_never_heard_of():
    times = Times(["a", "b"])
    assert not times.move("a", 10) and times.watermark == UNKNOWN
    assert times.move("b", 7) and times.watermark == 7
    assert not times.move("a", 20) and times.watermark == 7
    assert times.move("b", 15) and times.watermark == 15


def test_no_time_runs_backwards():
    times = Times(["a"])
    times.move("a", 10)
    times.tick(100)
    assert not times.move("a", 5)
    times.tick(50)
    assert (times.watermark, times.inputs["a"], times.clock) == (10, 10, 100)


def test_an_idle_input_holds_nobody_back_and_does_not_pull_back():
    times = Times(["a", "b"])
    times.move("a", 10)
    assert times.rest("b") and times.watermark == 10
    assert not times.move("b", 3) and times.watermark == 10
    assert not times.move("a", 20) and times.watermark == 10
    assert times.move("b", 15) and times.watermark == 15


def test_all_idle_leaves_the_watermark():
    times = Times(["a"])
    times.move("a", 10)
    assert not times.rest("a") and times.watermark == 10


def test_an_input_nobody_declared_is_an_error():
    with pytest.raises(KeyError):
        Times(["a"]).move("b", 1)


def test_what_is_exported_is_plain_and_taken_over_where_it_is_further_on():
    times = Times(["a", "b"])
    times.tick(100)
    times.move("a", 10)
    assert times.export() == {"clock": 100, "watermark": None, "inputs": {"a": 10}}
    times.move("b", 20)
    later = Times(["a", "b"])
    later.tick(500)
    later.take_over(times.export())
    assert later.export() == {"clock": 500, "watermark": 10, "inputs": {"a": 10, "b": 20}}
    later.take_over({"clock": 1, "watermark": 1, "inputs": {"a": 1}})
    assert later.export() == {"clock": 500, "watermark": 10, "inputs": {"a": 10, "b": 20}}


def test_an_input_that_is_no_more_does_not_hold_the_watermark():
    times = Times(["a"])
    times.take_over({"clock": 0, "watermark": 5, "inputs": {"gone": 5, "a": 6}})
    assert times.move("a", 9) and times.watermark == 9


def test_over_and_the_present_by_both_clocks():
    times = Times(["a", "b"])
    times.tick(100)
    assert times.base() == 100
    times.move("a", 10)
    assert times.base() == 10
    assert times.over(100, event=False) and not times.over(101, event=False)
    assert not times.over(10, event=True)
    times.move("b", 8)
    assert times.base() == 8
    assert times.over(8, event=True) and not times.over(9, event=True)


def test_a_reset_goes_back():
    times = Times(["a"])
    times.tick(5)
    before = times.export()
    times.tick(100)
    times.move("a", 10)
    times.reset(before)
    assert times.export() == before and times.watermark == UNKNOWN
