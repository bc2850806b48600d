from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers_operators import metadata, operator

from whorl.errors import Retry
from whorl.operators.chain import Chain, ChainNode, StepFailed, user_place
from whorl.operators.operator import OperatorType, Shape, Step
from whorl.operators.record import Metadata, Record, Row
from whorl.schema import Schema


class Fixed(OperatorType):
    """An operator whose step is given."""

    type = "fixed"
    summary = "For tests."

    def __init__(self, shape: Shape, call: Callable[..., Any], open: Any = None, close: Any = None) -> None:
        self.made = Step(shape, call, open, close)

    def step(self, schema: Schema | None) -> Step:
        return self.made


class Sink:
    def __init__(self) -> None:
        self.rows: list[tuple[str, Row]] = []
        self.metadata: list[Metadata] = []

    def named(self, name: str) -> Callable[[Row, Metadata], None]:
        def emit(row: Row, metadata: Metadata) -> None:
            self.rows.append((name, row))
            self.metadata.append(metadata)

        return emit


def chain(nodes: dict[str, OperatorType], edges: list[str]) -> tuple[Chain, Sink]:
    """Edges as `a>b` or `a.output>b`; what is not an operator and is not the source `in` is a sink."""
    sink, parsed = Sink(), []
    for edge in edges:
        left, target = edge.split(">")
        source, _, output = left.partition(".")
        parsed.append((source, target, output))
    emitters = {target: sink.named(target) for _, target, _ in parsed if target not in nodes}
    made = Chain([ChainNode(id, each) for id, each in nodes.items()], parsed, emitters)
    return made, sink


def call(function: Callable[[Row], Any]) -> Fixed:
    return Fixed(Shape.CALL, function)


def test_a_line_of_operators() -> None:
    nodes = {
        "large": operator("filter", where="n > 1"),
        "twice": operator("map", columns={"n": "n * 2"}),
        "user": call(lambda row: {**row, "seen": True}),
        "copy": operator("forward"),
    }
    made, sink = chain(nodes, ["in>large", "large>twice", "twice>user", "user>copy", "copy>out"])
    entry = made.entry("in")
    for n in (1, 2, 3):
        entry({"n": n}, metadata())
    assert sink.rows == [("out", {"n": 4, "seen": True}), ("out", {"n": 6, "seen": True})]
    assert not made.has_bulk


def test_fan_out_goes_depth_first_in_the_order_of_edges() -> None:
    nodes = {
        "a": operator("forward"),
        "b": operator("map", columns={"b": "1"}),
        "c": operator("map", columns={"c": "1"}),
    }
    made, sink = chain(nodes, ["in>a", "a>b", "a>c", "a>raw", "b>x", "c>y"])
    made.entry("in")({}, metadata())
    assert sink.rows == [("x", {"b": 1}), ("y", {"c": 1}), ("raw", {})]


def test_fan_in_of_two_sources_and_a_diamond() -> None:
    nodes = {
        "u": operator("union"),
        "l": operator("map", columns={"l": "1"}),
        "r": operator("map", columns={"r": "1"}),
        "j": operator("union"),
    }
    made, sink = chain(nodes, ["in>u", "in2>u", "u>l", "u>r", "l>j", "r>j", "j>out"])
    made.entry("in")({"s": 1}, metadata())
    made.entry("in2")({"s": 2}, metadata())
    assert [row for _, row in sink.rows] == [{"s": 1, "l": 1}, {"s": 1, "r": 1}, {"s": 2, "l": 1}, {"s": 2, "r": 1}]


def test_user_code_cannot_change_what_its_neighbour_sees() -> None:
    def spoil(row: Row) -> Row:
        row["spoilt"] = True
        return row

    made, sink = chain(
        {"a": call(spoil), "b": call(spoil), "f": operator("forward")}, ["in>a", "in>f", "f>out", "a>x", "f>b", "b>y"]
    )
    made.entry("in")({"n": 1}, metadata())
    assert sink.rows[1] == ("out", {"n": 1})


def test_branch() -> None:
    nodes = {
        "b": operator("branch", outputs=[{"name": "big", "where": "n > 10"}, {"name": "odd", "where": "n % 2 = 1"}])
    }
    made, sink = chain(nodes, ["in>b", "b.odd>odd", "b.big>big", "b.big>copy"])
    for n in (11, 3, 2):
        made.entry("in")({"n": n}, metadata())
    assert [(name, row["n"]) for name, row in sink.rows] == [("big", 11), ("copy", 11), ("odd", 3)]


def test_keys_go_with_the_row() -> None:
    made, sink = chain({"k": operator("key_by", key="n"), "f": operator("forward")}, ["in>k", "k>f", "f>out", "in>raw"])
    made.entry("in")({"n": 7}, metadata(b"old"))
    assert [each.key for each in sink.metadata] == [b"7", b"old"]


def test_flat_map_keeps_order() -> None:
    made, sink = chain({"f": operator("flat_map", explode="a")}, ["in>f", "f>out"])
    made.entry("in")({"a": [3, 1, 2]}, metadata())
    made.entry("in")({"a": None}, metadata())
    assert [row["a"] for _, row in sink.rows] == [3, 1, 2]


def results(result: Any) -> Sink:
    made, sink = chain({"p": call(lambda row: result)}, ["in>p", "p>out"])
    made.entry("in")({}, metadata())
    return sink


def test_kinds_of_results() -> None:
    assert results(None).rows == []
    assert results({"a": 1}).rows == [("out", {"a": 1})]
    assert results([{"a": 1}, {"a": 2}]).rows == [("out", {"a": 1}), ("out", {"a": 2})]
    assert results(each for each in ({"a": 1}, {"a": 2})).rows == [("out", {"a": 1}), ("out", {"a": 2})]
    assert results([]).rows == []
    sink = results(Record({"a": 1}, key="new", headers=[("x", b"y")], timestamp=5))
    assert sink.rows == [("out", {"a": 1})]
    assert (sink.metadata[0].key, sink.metadata[0].headers, sink.metadata[0].timestamp, sink.metadata[0].offset) == (
        b"new",
        [("x", b"y")],
        5,
        14,
    )
    assert results([Record({"a": 1})]).metadata[0].key == b"k"


@pytest.mark.parametrize("result", [5, "text", b"bytes", [1], [None], Record("no row"), True])  # type: ignore[arg-type]
def test_a_wrong_result_is_named(result: Any) -> None:
    with pytest.raises(StepFailed) as caught:
        results(result)
    assert caught.value.operator == "p"
    assert isinstance(caught.value.cause, TypeError)
    assert "not" in str(caught.value.cause)


class TestFailure:
    @staticmethod
    def broken(row: Row) -> Any:
        raise LookupError("broken")

    @staticmethod
    def broken_later(row: Row) -> Any:
        yield {"a": 1}
        raise LookupError("later")

    @pytest.mark.parametrize("shape", [Shape.MAP, Shape.FILTER, Shape.FLAT_MAP, Shape.BRANCH, Shape.KEY, Shape.CALL])
    def test_belongs_to_the_step_that_raised(self, shape: Shape) -> None:
        nodes = {"first": call(lambda row: row), "bad": Fixed(shape, self.broken), "last": operator("forward")}
        made, sink = chain(nodes, ["in>first", "first>bad", "bad>last", "last>out"])
        with pytest.raises(StepFailed) as caught:
            made.entry("in")({}, metadata())
        assert caught.value.operator == "bad"
        assert isinstance(caught.value.cause, LookupError)
        assert sink.rows == []

    @pytest.mark.parametrize("shape", [Shape.CALL, Shape.FLAT_MAP])
    def test_in_a_generator_nothing_leaves(self, shape: Shape) -> None:
        made, sink = chain({"bad": Fixed(shape, self.broken_later)}, ["in>bad", "bad>out"])
        with pytest.raises(StepFailed, match="'bad' failed: LookupError: later"):
            made.entry("in")({}, metadata())
        assert sink.rows == []

    def test_of_a_sink_is_not_a_steps(self) -> None:
        def emit(row: Row, metadata: Metadata) -> None:
            raise BufferError("full")

        made = Chain([ChainNode("a", call(lambda row: [row]))], [("in", "a", ""), ("a", "out", "")], {"out": emit})
        with pytest.raises(BufferError):
            made.entry("in")({}, metadata())

    def test_retry_is_kept(self) -> None:
        def wait(row: Row) -> Any:
            raise Retry(after=3)

        made, _ = chain({"w": call(wait)}, ["in>w", "w>out"])
        with pytest.raises(StepFailed) as caught:
            made.entry("in")({}, metadata())
        assert isinstance(caught.value.cause, Retry) and caught.value.cause.after == 3
        assert pickle.loads(pickle.dumps(caught.value)).operator == "w"

    def test_place_is_in_the_users_file(self) -> None:
        made, _ = chain({"bad": call(self.broken)}, ["in>bad", "bad>out"])
        with pytest.raises(StepFailed) as caught:
            made.entry("in")({}, metadata())
        line = self.broken.__code__.co_firstlineno + 2
        assert user_place(caught.value.cause) == f"{Path(__file__)}:{line}"

    def test_place_is_empty_without_user_code(self) -> None:
        made, _ = chain({"f": operator("filter", where="n / 0 > 1")}, ["in>f", "f>out"])
        with pytest.raises(StepFailed) as caught:
            made.entry("in")({"n": 1}, metadata())
        assert user_place(caught.value.cause) == ""
        with pytest.raises(ValueError) as plain:
            int("x")
        assert Path(__file__).name in user_place(plain.value)


class TestBulk:
    @staticmethod
    def doubled(rows: list[Row], metadata: list[Metadata]) -> list[Any]:
        return [{"n": row["n"] * 2} if row["n"] else None for row in rows]

    def test_waits_for_flush_and_goes_on(self) -> None:
        nodes = {
            "one": Fixed(Shape.BULK, self.doubled),
            "f": operator("filter", where="n > 2"),
            "two": Fixed(Shape.BULK, self.doubled),
        }
        made, sink = chain(nodes, ["in>one", "one>f", "f>two", "two>out", "in>raw"])
        assert made.has_bulk
        for n in (1, 0, 2):
            made.entry("in")({"n": n}, metadata())
        assert [name for name, _ in sink.rows] == ["raw", "raw", "raw"]
        made.flush()
        assert sink.rows[3:] == [("out", {"n": 8})]
        made.flush()
        assert len(sink.rows) == 4

    def test_drop_forgets(self) -> None:
        made, sink = chain({"one": Fixed(Shape.BULK, self.doubled)}, ["in>one", "one>out"])
        made.entry("in")({"n": 1}, metadata())
        made.drop()
        made.flush()
        assert sink.rows == []

    @pytest.mark.parametrize("results", [[{}], None, {}, [1, 2]])
    def test_wrong_results(self, results: Any) -> None:
        made, sink = chain({"one": Fixed(Shape.BULK, lambda rows, metadata: results)}, ["in>one", "one>out"])
        for _ in range(2):
            made.entry("in")({}, metadata())
        with pytest.raises(StepFailed) as caught:
            made.flush()
        assert caught.value.operator == "one" and isinstance(caught.value.cause, TypeError)
        assert sink.rows == []

    def test_a_failed_bulk_leaves_nothing_waiting(self) -> None:
        calls = []

        def fail(rows: list[Row], metadata: list[Metadata]) -> list[Any]:
            calls.append(len(rows))
            raise LookupError("bulk")

        made, _ = chain({"one": Fixed(Shape.BULK, fail)}, ["in>one", "one>out"])
        made.entry("in")({}, metadata())
        with pytest.raises(StepFailed):
            made.flush()
        made.flush()
        assert calls == [1]


def test_open_in_order_close_in_reverse_even_after_an_error() -> None:
    log: list[str] = []

    def noted(name: str, fails: bool = False) -> Callable[[], None]:
        def note() -> None:
            log.append(name)
            if fails:
                raise LookupError(name)

        return note

    nodes = {
        name: Fixed(Shape.CALL, lambda row: row, noted(f"+{name}"), noted(f"-{name}", name == "b"))
        for name in ("b", "a")
    }
    made, _ = chain(nodes, ["in>a", "a>b", "b>out"])
    made.open()
    with pytest.raises(StepFailed, match="'b'"):
        made.close()
    assert log == ["+a", "+b", "-b", "-a"]


def test_a_source_that_nobody_reads() -> None:
    made, sink = chain({}, ["in>out"])
    made.entry("other")({}, metadata())
    assert sink.rows == []


def test_very_long_lines() -> None:
    count = 120
    nodes: dict[str, OperatorType] = {f"n{at}": Fixed(Shape.FILTER, lambda row: True) for at in range(count)}
    edges = ["in>n0", *(f"n{at}>n{at + 1}" for at in range(count - 1)), f"n{count - 1}>out"]
    made, sink = chain(nodes, edges)
    made.entry("in")({"n": 1}, metadata())
    assert len(sink.rows) == 1


def test_a_constructor_that_raises_is_the_operators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "usercode_chain.py").write_text(
        "class Bad:\n    def __init__(self):\n        raise KeyError('setting')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(StepFailed) as caught:
        chain({"p": operator("python", **{"class": "usercode_chain.Bad"})}, ["in>p", "p>out"])
    assert user_place(caught.value.cause).endswith("usercode_chain.py:3")
