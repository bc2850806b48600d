"""Limits of what an operator keeps: the keys that were not written for longest go, whatever dies meanwhile."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from helpers_state import Life
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl import Context, KeyedOperator, ListState, MapState, Row, ValueState
from whorl.operators.bounded_step import BoundedStep
from whorl.operators.keyed_step import TimerMessage
from whorl.operators.record import Metadata
from whorl.state.bounds import Limits
from whorl.state.codec import ORDER
from whorl.testing import OperatorHarness

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Keeper(KeyedOperator):
    """Does with its states what the record says."""

    value = ValueState(str)
    many = ListState(int)
    named = MapState(str, int)

    def process(self, key: str, record: Row, context: Context) -> None:
        if "value" in record:
            self.value.set(record["value"])
        for number in record.get("many", ()):
            self.many.append(number)
        for name in record.get("named", ()):
            self.named[name] = len(list(self.named)) + 1
        for state in (self.value, self.many, self.named) if record.get("clear") else ():
            state.clear()
        if "timer" in record:
            context.timers.at(record["timer"])
        if record.get("fail"):
            raise ValueError("as told")

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        context.emit({"key": key, "value": self.value.get()})
        self.many.append(0)


def kept(harness: OperatorHarness, keys: str) -> str:
    return "".join(key for key in keys if any(harness.states(key).values()))


def test_the_key_that_was_not_written_for_longest_goes() -> None:
    harness = OperatorHarness.of("count", key="k", max_keys=2)
    counts = [harness.send(None, {"k": key})[0]["count"] for key in "aabacaab"]
    assert counts == [1, 2, 1, 3, 1, 4, 5, 1]
    assert harness.state("c", "count") is None


ACTS = st.tuples(
    st.sampled_from("abcde"),
    st.sampled_from(
        [{"value": "x"}, {"many": [1, 2]}, {"named": ["n", "m"]}, {"named": ["o"], "value": "y"}, {"clear": True}, {}]
    ),
    st.booleans(),
    st.sampled_from(["", "", "commit", "crash"]),
)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 3), st.lists(ACTS, max_size=40))
def test_it_is_as_if_all_keys_were_in_a_list_in_order_of_their_last_write(most: int, acts: list[Any]) -> None:
    harness, model = OperatorHarness(Keeper, max_keys=most), OrderedDict[str, Row]()
    for key, record, fails, after in acts:
        if fails:
            with pytest.raises(ValueError, match="as told"):
                harness.send(key, {**record, "fail": True})
        else:
            harness.send(key, record)
            _apply(model, key, record, most)
        if after:
            getattr(harness, after)()
        assert {each: harness.states(each) for each in "abcde"} == {each: _of(model, each) for each in "abcde"}


def _of(model: dict[str, Row], key: str) -> Row:
    return model.get(key, {"value": None, "many": [], "named": {}})


def _apply(model: OrderedDict[str, Row], key: str, record: Row, most: int) -> None:
    if record.get("clear"):
        model.pop(key, None)
    elif record:
        held = model.setdefault(key, {"value": None, "many": [], "named": {}})
        held["value"] = record.get("value", held["value"])
        held["many"] = [*held["many"], *record.get("many", ())]
        for name in record.get("named", ()):
            held["named"][name] = len(held["named"]) + 1
        model.move_to_end(key)
    while len(model) > most:
        model.popitem(last=False)


def test_bytes_are_those_that_are_stored() -> None:
    entry, most = len(b"operator/value\0a") + 1 + 3 + 300, 1000
    harness = OperatorHarness(Keeper, max_bytes=most)
    for key in "abcd":
        harness.send(key, {"value": key * 300})
        harness.commit()
    assert kept(harness, "abcd") == "bcd"[-(most // entry) :]
    harness.send("d", {"value": "short"})
    harness.send("e", {"value": "e" * 300})
    assert kept(harness, "abcde") == "bcde"
    harness.send("c", {"value": "c" * 340})
    assert kept(harness, "abcde") == "cde"
    harness.crash()
    harness.send("f", {"value": Random(1).randbytes(2000).hex()})  # beyond the limit alone, and kept all the same
    assert kept(harness, "abcdef") == "f"
    harness.send("g", {"value": "g"})
    assert kept(harness, "fg") == "g"


def test_timers_of_a_key_that_went_still_fire_and_find_nothing() -> None:
    harness = OperatorHarness(Keeper, max_keys=1)
    harness.send("a", {"value": "x", "timer": NOON})
    harness.send("b", {"value": "y"})
    harness.commit()
    harness.crash()
    assert harness.watermark(NOON) == [{"key": "a", "value": None}]
    assert kept(harness, "ab") == "a"  # what the timer wrote is newer


class Life2(Life):
    """An lp with a bounded operator, whose entries end after a second."""

    def __init__(self, most: int, folder: Path | None = None, **more: Any) -> None:
        self.most = most
        super().__init__(folder, **more)

    def open(self) -> None:
        super().open()
        self.step = BoundedStep(Keeper(), "op", bytes.decode, Limits(keys=self.most), lifetime={"ttl": 1})
        self.step.enter(self.lp)

    def send(self, keys: str) -> None:
        for key in keys:
            self.record(
                lambda lp, key=key: self.step.process(
                    {"value": key}, Metadata(TimerMessage(key.encode(), 0), key.encode())
                )
            )

    def kept(self, keys: str) -> str:
        table = self.lp.table("op", "value")
        return "".join(key for key in keys if table.holds(key.encode()))


@pytest.mark.parametrize("behind", [False, True])
def test_the_order_survives_on_disk(tmp_path: Path, behind: bool) -> None:
    life = Life2(3, tmp_path / "lp", behind=behind)
    life.send("abc")
    life.commit()
    life.send("a")
    life.commit(store=False)
    life.send("x")
    life.die()  # x was never committed
    life.send("d")
    assert life.kept("abcdx") == "acd"
    life.commit()
    life.send("efghi")
    assert life.kept("abcdefghi") == "ghi"
    life.lp.drop()
    assert life.kept("abcdefghi") == "acd"


def test_a_lower_limit_counts_from_the_next_write() -> None:
    life = Life2(5)
    life.send("abcde")
    life.commit()
    life.most = 2
    life.die()
    assert life.kept("abcde") == "abcde"
    life.send("f")
    assert life.kept("abcdef") == "ef"


def test_what_has_expired_is_not_counted() -> None:
    life = Life2(2)
    life.lp.clocks.tick(1)
    life.send("ab")
    life.commit()
    life.lp.clocks.tick(2000)
    assert life.lp.sweep(1000) == 2
    life.commit()
    assert life.lp.count() == 1  # of the order nothing is left but its numbers
    life.send("cd")
    assert life.kept("abcd") == "cd"


def test_shares() -> None:
    assert Limits(10, None).share(4) == Limits(3, None) and Limits(1, 100).share(8) == Limits(1, 13)


def test_who_has_no_limit_has_no_order() -> None:
    harness = OperatorHarness(Keeper)
    harness.send("a", {"value": "x"})
    assert not any(key.startswith(ORDER.encode()) for key in harness._lp.delta())
