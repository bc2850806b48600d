from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers_operators import metadata, operator, step
from pydantic import ValidationError

from whorl.errors import PipelineError
from whorl.operators.loading import load
from whorl.operators.native import Keyed
from whorl.operators.operator import OperatorType, Shape, Upstream
from whorl.schema import Schema
from whorl.state.backend import MemoryBackend, Meta
from whorl.state.partition import LpState

CODE = """
def plain(row):
    return {**row, "seen": True}

def with_metadata(row, metadata):
    return {"offset": metadata.offset}

def with_default(row, factor=3):
    return {"n": row["n"] * factor}

def with_args(row, metadata, *, factor):
    return {"n": row["n"] * factor, "topic": metadata.topic}

def many(rows):
    return [{"n": row["n"], "of": len(rows)} for row in rows]

class Counter:
    def __init__(self, start=0):
        self.count = start
        self.log = []
    def open(self):
        self.log.append("open")
    def close(self):
        self.log.append("close")
    def process(self, row):
        self.count += 1
        return {"count": self.count}

class NoProcess:
    pass

from whorl import KeyedOperator, ValueState

class Keyed(KeyedOperator):
    own = ValueState(int, ttl="1h")
    other = ValueState(int)
    def process(self, key, record, context):
        context.emit({"key": key, "own": self.own.get(), "other": self.other.get()})
        self.own.set(record["n"])
        self.other.set(record["n"])
"""


@pytest.fixture(autouse=True)
def user_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "usercode_python.py").write_text(CODE)
    (tmp_path / "usercode_broken.py").write_text("x = 1\nraise RuntimeError('no luck')\n")
    (tmp_path / "usercode_syntax.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "usercode_needs.py").write_text("import a_module_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield


def call(row: dict[str, Any], **options: Any) -> Any:
    made = step("python", **options)
    return made.call(row) if made.shape is Shape.CALL else made.call(row, metadata())


def test_a_function_of_the_row() -> None:
    assert call({"a": 1}, function="usercode_python.plain") == {"a": 1, "seen": True}
    assert call({"a": 1}, function="usercode_python:plain") == {"a": 1, "seen": True}


def test_metadata_for_those_that_ask() -> None:
    assert step("python", function="usercode_python.with_metadata").shape is Shape.EACH
    assert call({}, function="usercode_python.with_metadata") == {"offset": 14}
    assert call({"n": 2}, function="usercode_python.with_default") == {"n": 6}


def test_args() -> None:
    assert call({"n": 2}, function="usercode_python.with_args", args={"factor": 5}) == {"n": 10, "topic": "in"}
    assert call({"n": 2}, function="usercode_python.with_default", args={"factor": 5}) == {"n": 10}


def test_a_class_is_made_once() -> None:
    made = step("python", **{"class": "usercode_python.Counter", "args": {"start": 10}})
    assert [made.call({}), made.call({})] == [{"count": 11}, {"count": 12}]
    assert made.open is not None and made.close is not None


def test_bulk() -> None:
    made = step("python", function="usercode_python.many", per="bulk")
    assert made.shape is Shape.BULK
    assert made.call([{"n": 1}, {"n": 2}], [metadata(), metadata()]) == [{"n": 1, "of": 2}, {"n": 2, "of": 2}]


def test_what_leaves() -> None:
    assert operator("python", function="m.f").output(Schema.of({"a": "long"})) is None
    assert operator("python", function="m.f", returns={"n": "bigint"}).output(None) == Schema.of({"n": "long"})
    assert list(operator("python", **{"class": "m.C"}).import_paths()) == [(("class",), "m.C")]


def test_exactly_one_of_function_and_class() -> None:
    for options in ({}, {"function": "a.b", "class": "a.b"}):
        with pytest.raises(ValidationError, match="either 'function' or 'class'"):
            operator("python", **options)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no_such_module_here.f", "there is no module 'no_such_module_here'"),
        ("usercode_python.plian", "did you mean 'plain'"),
        (
            "usercode_broken.f",
            "usercode_broken.py:2: [import] 'usercode_broken.f' does not load: module 'usercode_broken' raised RuntimeError: no luck",
        ),
        ("usercode_syntax.f", "usercode_syntax.py:2"),
        ("usercode_needs.f", "a_module_that_is_missing"),
        ("nodots", "not an import path"),
        (":f", "not an import path"),
    ],
)
def test_import_errors(path: str, words: str) -> None:
    with pytest.raises(PipelineError) as caught:
        load(path)
    assert caught.value.code == "import"
    assert words in str(caught.value)


def placed(**options: Any) -> OperatorType:
    return operator("python", **{"class": "usercode_python.Keyed", **options}).reading([Upstream("in")])


def test_by_what_state_is_kept() -> None:
    assert operator("python", function="usercode_python.plain").reading([Upstream("in")]).keyed_by() is None
    assert placed(**{"class": "usercode_python.Counter"}).keyed_by() is None
    assert placed().keyed_by() == ()
    assert placed(key="a").keyed_by() == ("a",)
    assert placed(key=["a", "b"], outputs=["x"]).keyed_by() == ("a", "b")
    assert placed(returns={"n": "long"}).native(None) == Keyed(())
    assert list(placed(ttl="1m").faults()) == []


@pytest.mark.parametrize("option", [{"key": "a"}, {"outputs": ["a"]}, {"ttl": "1m"}])
def test_options_of_state_need_a_class_that_keeps_it(option: dict[str, Any]) -> None:
    (name,) = option
    (fault,) = placed(**{"class": "usercode_python.Counter", **option}).faults()
    assert (fault.path, fault.code) == ((name,), "type")
    assert fault.message == f"'{name}' is for a KeyedOperator, which 'usercode_python.Counter' is not"
    with pytest.raises(ValidationError, match=f"'{name}' is for a class that is a KeyedOperator"):
        operator("python", function="usercode_python.plain", **option)


def test_a_time_to_live_for_states_that_have_none() -> None:
    keyed = placed(ttl="1m").step(None).keyed
    assert keyed is not None
    step, lp = keyed("id"), LpState(MemoryBackend(), Meta("t", "t", "t"))
    step.enter(lp)
    step.process({"n": 7}, metadata(b"k"))
    lp.clocks.tick(60_001)
    assert [row for _, row, _ in step.process({"n": 8}, metadata(b"k"))] == [{"key": "k", "own": 7, "other": None}]


def test_a_class_without_process() -> None:
    with pytest.raises(PipelineError, match="no method 'process'"):
        step("python", **{"class": "usercode_python.NoProcess"})
