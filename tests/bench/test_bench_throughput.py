from __future__ import annotations

from typing import NamedTuple

import pytest
from bench.failures import WrongCount
from bench.throughput import Run, Scenario, check_sink, compared

SCENARIO = Scenario("count", "topic", 3, 3, {b"a": b"2,30"})


class Message(NamedTuple):
    name: bytes
    text: bytes

    def key(self) -> bytes:
        return self.name

    def value(self) -> bytes:
        return self.text


def test_a_sink_that_ends_with_what_is_due_passes() -> None:
    check_sink([Message(b"a", b"1,10"), Message(b"b", b"1,7"), Message(b"a", b"2,30")], SCENARIO, "sink")


def test_a_system_that_skips_the_work_has_no_figure() -> None:
    with pytest.raises(WrongCount, match="holds 1 records, 3 were due"):
        check_sink([Message(b"a", b"2,30")], SCENARIO, "sink")
    with pytest.raises(WrongCount, match="ends with b'1,20'"):
        check_sink([Message(b"a", b"1,10"), Message(b"b", b"1,7"), Message(b"a", b"1,20")], SCENARIO, "sink")


def test_a_side_that_did_not_run_is_compared_with_nothing() -> None:
    runs = [Run("whorl", 10), Run("whorl", 30), Run("whorl", 20), Run("quix", 5)]
    assert compared(runs, "quix") == "4.00"
    assert compared(runs, "per_key") == "skipped"
