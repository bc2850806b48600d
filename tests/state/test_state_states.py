"""States as an operator declares and uses them: binding, conversion, expiry."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from helpers_state import Life
from pydantic import BaseModel

from whorl.errors import PipelineError
from whorl.state.binding import Binding, declared
from whorl.state.codec import user_key
from whorl.state.states import ListState, MapState, ValueState


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


@dataclass
class Line:
    start: Point
    at: datetime


class Account(BaseModel):
    owner: str
    limits: dict[str, float] = {}


class Base:
    total = ValueState(int)


class Operator(Base):
    points = ListState(Point)
    seen = MapState(str, int)
    line = ValueState(Line)
    account = ValueState(Account)
    anything = ValueState(Any)
    maybe = MapState(str, Any)
    short = ValueState(str, ttl="1s")
    read = ValueState(str, ttl=1.0, refresh_on_read=True)
    by_event = ValueState(str, ttl="1s", ttl_time="event")
    fading = MapState(str, str, ttl="1s", refresh_on_read=True)
    fading_list = ListState(int, ttl="1s")


class Bench:
    """An operator at work on one lp."""

    def __init__(self, life: Life) -> None:
        self.life, self.op = life, Operator()
        self.binding = Binding(self.op, "op")
        self.reopen()

    def reopen(self) -> None:
        self.binding.scope.tables = self.binding.tables(self.life.lp)
        self.binding.scope.key = b"k"

    def commit(self) -> None:
        """And a restart, so that everything is read from bytes."""
        self.life.lp.keep()
        self.life.commit()
        self.life.die()
        self.reopen()


@pytest.fixture
def bench(life: Life) -> Bench:
    return Bench(life)


def test_a_value(bench: Bench):
    total = bench.op.total
    assert total.get() is None and total.get(3) == 3
    total.set(1)
    assert total.update(lambda old: (old or 0) + 4) == 5
    bench.commit()
    assert total.get() == 5
    total.clear()
    assert total.get() is None
    bench.commit()
    assert total.get(7) == 7 and bench.life.lp.count() == 0


def test_each_key_has_its_own(bench: Bench):
    bench.op.total.set(1)
    bench.op.seen["a"] = 1
    bench.binding.scope.key = b"k2"
    assert bench.op.total.get() is None and len(bench.op.seen) == 0
    bench.op.seen["b"] = 2
    bench.commit()
    assert dict(bench.op.seen.items()) == {"a": 1}


def test_a_list(bench: Bench):
    points = bench.op.points
    assert points.get() == [] and len(points) == 0
    points.append(Point(1, ["a"]))
    points.extend([Point(2), Point(3)])
    bench.commit()
    assert points.get() == [Point(1, ["a"]), Point(2), Point(3)] and len(points) == 3
    assert [point.x for point in points] == [1, 2, 3]
    points.set([Point(9)])
    assert points.get() == [Point(9)]
    points.clear()
    bench.commit()
    assert points.get() == []


def test_a_map(bench: Bench):
    seen = bench.op.seen
    seen["b"] = 1
    seen.put("a", 2)
    bench.commit()
    seen["c"] = 3
    assert seen["b"] == 1 and seen.get("x") is None and seen.get("x", 5) == 5
    assert "a" in seen and "x" not in seen
    assert list(seen.items()) == [("a", 2), ("b", 1), ("c", 3)] and list(seen) == list(seen.keys()) == ["a", "b", "c"]
    assert list(seen.values()) == [2, 1, 3] and len(seen) == 3
    seen.remove("a")
    seen.remove("never")
    del seen["b"]
    for missing in (lambda: seen["a"], lambda: seen.__delitem__("b")):
        with pytest.raises(KeyError):
            missing()
    assert dict(seen.items()) == {"c": 3}
    seen.clear()
    assert len(seen) == 0
    bench.commit()
    assert len(seen) == 0 and bench.life.lp.count() == 0


def test_entries_of_a_map_are_stored_one_by_one(bench: Bench):
    for n in range(500):
        bench.op.seen[str(n)] = n
    bench.commit()
    bench.op.seen["7"] = 8
    bench.life.lp.keep()
    assert len(bench.life.lp.delta()) == 1


def test_none_in_a_map_is_not_missing(bench: Bench):
    bench.op.maybe["a"] = None
    bench.commit()
    assert bench.op.maybe.get("a", 5) is None and bench.op.maybe["a"] is None and bench.op.maybe.get("b", 5) == 5


def test_the_entries_of_a_map_are_told_from_values_of_the_same_name(bench: Bench):
    bench.op.seen["a"] = 1
    bench.life.lp.table("op", "seen").put(b"k", 2)
    bench.life.lp.keep()
    delta = dict(bench.life.commit())
    assert len(delta) == 2 and {user_key(entry) for entry in delta} == {b"k"}
    assert {entry.partition(b"\0")[0] for entry in delta} == {b"op/seen", b"op/seen{}"}


def test_keys_that_begin_alike_are_not_mixed_up(bench: Bench):
    scope = bench.binding.scope
    for key in (b"", b"a", b"ab", b"a\0", b"long" * 200, b"long" * 200 + b"er"):
        scope.key = key
        bench.op.seen["b"] = len(key)
        bench.op.seen["c"] = 0
    bench.commit()
    for key in (b"", b"a", b"ab", b"a\0", b"long" * 200, b"long" * 200 + b"er"):
        scope.key = key
        assert sorted(bench.op.seen.items()) == [("b", len(key)), ("c", 0)]


def test_dataclasses_and_models_go_by_their_fields(bench: Bench):
    line = Line(Point(1, ["x"]), datetime(2020, 1, 1, tzinfo=UTC))
    bench.op.line.set(line)
    bench.op.account.set(Account(owner="me", limits={"a": 1.5}))
    line.start.tags.append("changed later")
    bench.commit()
    assert bench.op.line.get() == Line(Point(1, ["x"]), datetime(2020, 1, 1, tzinfo=UTC))
    assert bench.op.account.get() == Account(owner="me", limits={"a": 1.5})


@pytest.mark.parametrize(("state", "value"), [("total", "1"), ("line", 5), ("account", {"x": 1}), ("anything", {1})])
def test_a_value_that_does_not_fit_is_refused(bench: Bench, state: str, value: Any):
    with pytest.raises(PipelineError) as refused:
        getattr(bench.op, state).set(value)
    assert refused.value.code == "state-value"
    assert state in str(refused.value) or state == "anything"
    assert getattr(bench.op, state).get() is None


def test_a_whole_number_is_a_float_where_floats_are_declared():
    class Summing:
        sum = ValueState(float)

    life, op = Life(), Summing()
    binding = Binding(op, "op")
    binding.scope.tables, binding.scope.key = binding.tables(life.lp), b"k"
    op.sum.set(3)
    assert type(op.sum.get()) is float


def test_outside_of_process_it_says_which_state_and_why(bench: Bench):
    with pytest.raises(PipelineError, match=r"'total' of 'Operator'.*before a host opened"):
        _ = Operator().total
    bench.binding.scope.key = None
    uses = [
        bench.op.total.get,
        lambda: bench.op.total.set(1),
        bench.op.points.get,
        lambda: bench.op.seen["x"],
        lambda: next(bench.op.seen.items()),
    ]
    for use in uses:
        with pytest.raises(PipelineError, match=r"of 'op' was used where there is no current key.*process or on_timer"):
            use()


def test_one_object_serves_many_lps():
    lives = [Life(), Life()]
    op = Operator()
    binding = Binding(op, "op")
    tables = [binding.tables(life.lp) for life in lives]
    binding.scope.key = b"k"
    for lp in (0, 1):
        binding.scope.tables = tables[lp]
        op.total.set(lp)
    for lp in (0, 1):
        binding.scope.tables = tables[lp]
        assert op.total.get() == lp


def test_two_objects_of_a_class_are_apart():
    life, ops = Life(), [Operator(), Operator()]
    for n, op in enumerate(ops):
        binding = Binding(op, f"op{n}")
        binding.scope.tables, binding.scope.key = binding.tables(life.lp), b"k"
        op.total.set(n)
    assert [op.total.get() for op in ops] == [0, 1]


def test_a_value_lives_for_its_ttl_from_its_last_write(bench: Bench):
    clocks = bench.life.lp.clocks
    bench.op.short.set("x")
    clocks.tick(900)
    bench.op.short.set("y")
    clocks.tick(1800)
    assert bench.op.short.get() == "y"
    clocks.tick(1900)
    assert bench.op.short.get() is None


def test_reading_refreshes_where_asked_and_only_there(bench: Bench):
    bench.op.short.set("x")
    bench.op.read.set("x")
    bench.op.fading["a"] = "x"
    bench.op.fading["b"] = "x"
    for now in (900, 1800):
        bench.life.lp.clocks.tick(now)
        assert bench.op.read.get() == "x" and bench.op.fading["a"] == "x"
        bench.commit()
    assert bench.op.short.get() is None and "b" not in bench.op.fading
    assert dict(bench.op.fading.items()) == {"a": "x"} and len(bench.op.fading) == 1
    bench.life.lp.clocks.tick(2800)
    assert bench.op.read.get() is None and "a" not in bench.op.fading


def test_going_through_a_map_refreshes_its_entries(bench: Bench):
    bench.op.fading["a"] = "x"
    bench.life.lp.clocks.tick(900)
    assert dict(bench.op.fading.items()) == {"a": "x"}
    bench.commit()
    bench.life.lp.clocks.tick(1800)
    assert "a" in bench.op.fading


def test_event_time_ends_by_the_watermark(bench: Bench):
    clocks = bench.life.lp.clocks
    clocks.move("in", 5000)
    bench.op.by_event.set("x")
    clocks.tick(1 << 50)
    assert bench.op.by_event.get() == "x"
    clocks.move("in", 6000)
    assert bench.op.by_event.get() is None


def test_a_list_that_ended_begins_anew(bench: Bench):
    bench.op.fading_list.append(1)
    bench.life.lp.clocks.tick(1000)
    bench.op.fading_list.append(2)
    assert bench.op.fading_list.get() == [2]


def test_declared_states_of_base_classes_too_and_not_those_overridden():
    class Less(Base):
        total = None  # type: ignore[assignment]
        other = ValueState(int)

    assert list(declared(Operator))[:2] == ["total", "points"] and len(declared(Operator)) == 12
    assert list(declared(Less)) == ["other"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ttl": "soon"}, "'soon' is not a duration"),
        ({"ttl": 0}, "more than nothing"),
        ({"ttl": "1h", "ttl_time": "wall"}, "neither processing nor event"),
        ({"refresh_on_read": True}, "without a ttl"),
    ],
)
def test_a_wrong_declaration_names_the_state(options: dict[str, Any], why: str):
    wrong = type("Wrong", (), {"total": ValueState(int, **options)})
    with pytest.raises(PipelineError, match=f"'total' of 'op' is declared wrongly.*{why}"):
        Binding(wrong(), "op")


def test_declaring_is_light():
    code = "import whorl.state.states, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "whorl.state.table" in loaded and not {"pydantic", "lmdb", "confluent_kafka", "pyspark"} & set(loaded)
