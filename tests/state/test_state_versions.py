"""Versions of what an operator keeps: values of earlier ones are migrated as they are read, and what does not fit is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from whorl import Context, KeyedOperator, ListState, MapState, Row, ValueState
from whorl.errors import PipelineError, StateUnfit
from whorl.state.codec import decode, encode, expiry, stamped, version_of
from whorl.state.values import Timed
from whorl.testing import OperatorHarness


class First(KeyedOperator):
    total = ValueState(int)
    days = MapState(str, int, ttl="1d")
    seen = ListState(str)

    def process(self, key: str, record: Row, context: Context) -> None:
        self.total.update(lambda before: (before or 0) + record["n"])
        self.days["monday"] = record["n"]
        self.seen.append(str(record["n"]))


@dataclass
class Total:
    n: int
    since: str


class Second(KeyedOperator):
    """Keeps dataclasses, floats, and numbers in its list."""

    version = 2
    total = ValueState(Total)
    days = MapState(str, float, ttl="1d")
    seen = ListState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        if "n" in record:
            before = self.total.get() or Total(0, "now")
            self.total.set(Total(before.n + record["n"], before.since))
        context.emit({"total": self.total.get(), "days": dict(self.days.items()), "seen": self.seen.get()})

    def migrate(self, state: str, key: str, value: Any, version: int) -> Any:
        assert version == 1
        if state == "total":
            return Total(value, f"before, of {key}")
        if state == "seen":
            return [int(each) for each in value]
        return None if value < 0 else value / 2


class Third(Second):
    """Knows both."""

    version = 3

    def migrate(self, state: str, key: str, value: Any, version: int) -> Any:
        value = super().migrate(state, key, value, 1) if version == 1 else value
        if state != "total":
            return value
        total = value if isinstance(value, Total) else Total(**value)
        return Total(total.n * 10, total.since)


class Careless(First):
    """What it keeps is another, and it does not say so."""

    total = ValueState(Total)  # type: ignore[assignment]
    days = MapState(str, str)  # type: ignore[assignment]
    seen = ListState(int)  # type: ignore[assignment]

    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit({"read": getattr(self, record["read"]).get(*record.get("args", ()))})


def after(*lives: type[KeyedOperator], n: int = 4) -> OperatorHarness:
    """Key a has a record in the first life; the last one goes on."""
    running = [lives[0]]
    harness = OperatorHarness(lambda: running[-1]())
    harness.send("a", {"n": n})
    for life in lives[1:]:
        harness.commit()
        running.append(life)
        harness.crash()
    return harness


def test_values_of_an_earlier_version_are_migrated_as_they_are_read() -> None:
    harness = after(First, Second)
    assert harness.send("a", {}) == [{"total": Total(4, "before, of a"), "days": {"monday": 2.0}, "seen": [4]}]
    assert harness.send("a", {"n": 1})[0]["total"] == Total(5, "before, of a")
    assert harness.send("b", {"n": 1})[0]["total"] == Total(1, "now")


def test_what_was_written_anew_is_migrated_no_more() -> None:
    """Entry by entry: of a crash in the middle nothing is left half done."""
    harness = after(First, Second)
    harness.send("a", {"n": 1})
    harness.commit()
    for _ in range(2):
        harness.crash()
        assert harness.send("a", {}) == [{"total": Total(5, "before, of a"), "days": {"monday": 2.0}, "seen": [4]}]


def test_what_a_migration_gives_up_is_gone_and_times_to_live_stay() -> None:
    harness = after(First, Second, n=-4)
    assert harness.send("a", {})[0]["days"] == {}
    harness = after(First, Second)
    harness.pass_time("25h")
    assert harness.send("a", {})[0]["days"] == {}


def test_entries_of_all_earlier_versions_may_be_there() -> None:
    harness = after(First, Second)
    harness.send("a", {"n": 1})  # the total is of version 2 then, the others still of 1
    harness.commit()
    harness._make = OperatorHarness(Third)._make
    harness.crash()
    assert harness.send("a", {}) == [{"total": Total(50, "before, of a"), "days": {"monday": 2.0}, "seen": [4]}]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            {"read": "total"},
            "the state 'total' of 'operator' holds something else for the key b'a' than its type takes",
        ),
        ({"read": "days", "args": ["monday"]}, "'days' of 'operator' .* it is declared as 'str' and was given 4"),
        ({"read": "seen"}, "'seen' of 'operator' .* it is declared as 'int' and was given '4'"),
    ],
)
def test_what_does_not_fit_is_told(record: Row, words: str) -> None:
    harness = after(First, Careless)
    with pytest.raises(StateUnfit, match=words) as raised:
        harness.send("a", record)
    assert "migrate(self, state, key, value, version)" in raised.value.hint
    assert harness.send("b", record) in ([{"read": None}], [{"read": []}])


def test_whole_numbers_do_for_others() -> None:
    class Wider(KeyedOperator):
        total = ValueState(float)

        def process(self, key: str, record: Row, context: Context) -> None:
            context.emit({"total": self.total.get()})

    assert repr(after(First, Wider).send("a", {})) == "[{'total': 4.0}]"


def test_a_version_without_a_way_back_or_forth() -> None:
    class Silent(Careless):
        version = 2

    class Failing(Second):
        def migrate(self, state: str, key: str, value: Any, version: int) -> Any:
            raise KeyError(state)

    with pytest.raises(StateUnfit, match="written by its version 1, and 2 has no way to read it"):
        after(First, Silent).send("a", {"read": "total"})
    with pytest.raises(StateUnfit, match="cannot be migrated: KeyError: 'total'"):
        after(First, Failing).send("a", {})
    with pytest.raises(StateUnfit, match="written by its version 2, and this is 1"):
        after(Second, First).send("a", {"n": 1})


@pytest.mark.parametrize("version", [0, 1 << 16, "2"])
def test_versions_that_are_none(version: Any) -> None:
    with pytest.raises(PipelineError, match="not a number from 1 to 65535"):
        OperatorHarness(type("Odd", (First,), {"version": version}))


@pytest.mark.parametrize("value", [7, "x" * 5000, Timed({"a": 1}, -5, True), Timed("y" * 5000, 9, False)])
def test_the_stamp_of_a_version(value: Any) -> None:
    raw = encode(value)
    marked = stamped(raw, 300)
    assert (version_of(raw), version_of(marked)) == (1, 300)
    assert decode(marked) == decode(raw) == value and expiry(marked) == expiry(raw)
    assert stamped(encode(7), 300).hex() == "81012c07"  # what is written once is read for ever
