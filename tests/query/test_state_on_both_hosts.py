"""The law of operators with state: what a query gives, record by record and key by key, is what tasks give. Here on Spark itself.

Nothing here depends on when the watermark moves, or the clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import kept_steps
import pytest
from kept_cases import BATCHES, CASES, FAILING, SCHEMA, python, row
from pyspark.sql import SparkSession
from streams import Streamed

from whorl.operators.builtin import BUILTIN
from whorl.operators.builtin.by_key import ByKey
from whorl.plan.plan import Input
from whorl.query import compile as compiling
from whorl.query.decode import decoded
from whorl.reading.entries import Entry
from whorl.testing import Given

pytestmark = pytest.mark.spark
Make = Callable[[str], Streamed]
MARK = {"column": "at", "delay": "0s"}


@pytest.fixture(scope="module")
def code(spark: SparkSession) -> None:
    spark.sparkContext.addPyFile(kept_steps.__file__)


@pytest.fixture
def streamed(quick: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: None) -> Make:
    monkeypatch.chdir(tmp_path)

    def make(text: str) -> Streamed:
        made = Streamed(quick, tmp_path, text)

        def stream_of(session: SparkSession, input: Input, reading: Any, *, headers: bool) -> Any:
            return decoded(made.frame(session, input), input)

        monkeypatch.setattr(compiling, "stream_of", stream_of)
        return made

    return make


def pipeline(operators: dict[str, dict[str, Any]], sources: Sequence[str] = ("s",), **options: Any) -> str:
    """Each of them reads all sources, and has a sink for each of its outputs, of the same name. `options`: of the sources."""
    source = {"type": "kafka", "key": "who", "schema": dict(SCHEMA), **options}
    reading = [{"id": id, "from": list(sources), "host": "HOST", **given} for id, given in operators.items()]
    outputs = [f"{id}.{each}" for id, given in operators.items() for each in given.get("outputs", ())]
    outputs += [id for id, given in operators.items() if not given.get("outputs")]
    sinks = {f"to_{each.replace('.', '_')}": {"type": "kafka", "topic": each, "from": each} for each in outputs}
    listed = {each: {**source, "topic": each} for each in sources}
    return json.dumps({"name": "demo", "sources": listed, "operators": reading, "sinks": sinks})


def rows_of(records: list[Any], key: bytes) -> list[Any]:
    return [value for _, own, value, *_ in records if own == key]


STATEFUL = {kind.type for kind in BUILTIN if issubclass(kind, ByKey)} | {"deduplicate"}
CLASSES = {name: options for name, options in CASES.items() if options["type"] == "python"}
OF_TIME = {name: options for name, options in CASES.items() if {"time", "ttl"} & options.keys()}
LOOKED_INTO = {"sessionize", "deduplicate", "Diary"}
"""What they keep is compared too."""
RUNNING = {name: options for name, options in CASES.items() if name not in {*CLASSES, *OF_TIME}}


def test_every_built_in_type_with_state_is_among_them() -> None:
    assert {options["type"] for options in CASES.values()} == STATEFUL | {"python"}


@pytest.mark.parametrize("cases", [RUNNING, OF_TIME, CLASSES], ids=["running", "of time", "classes"])
def test_operators_beside_each_other_in_three_batches_and_two_runs(streamed: Make, cases: dict[str, Any]) -> None:
    stream = streamed(pipeline(cases, watermark=MARK))
    for batch in BATCHES[:2]:
        stream.send("s", batch)
    stream.query()
    stream.send("s", BATCHES[2])
    written = stream.same()
    assert all(written[output.topic] for output in stream.plan.outputs) and not written["demo.dead"]
    if "deduplicate" in cases:
        assert [record[1] for record in written["deduplicate"]].count(b'["a",2]') == 2, "it is forgotten after a minute"
    if cases is CLASSES:
        assert any("00:10 after" in each["what"] for each in rows_of(written["Diary"], b"a")), "timers have fired"
        assert {record[1] for record in written["Several.large"]} == {b"large a", b"large b"}
        assert rows_of(written["Reread"], b"a")[4]["what"] == "[1.5, 1.5, None]", "what is read is kept"
        assert {entry.state for entry in stream.kept("Diary")[1]} > {"seen", "xs", "by"}
    for operator in LOOKED_INTO & cases.keys():
        tasks, query = stream.kept(operator)
        assert _told(query) <= _told(tasks)
        assert _told(query, lasting=True) == _told(tasks, lasting=True)


def _told(entries: list[Entry], lasting: bool = False) -> set[str]:
    """`lasting`: without what ends, which is gone when the watermark says so, and that of a query moves from batch to batch."""
    told = [entry for entry in entries if not lasting or entry.expires is None]
    return {str((e.operator, e.state, e.key, e.map_key, e.value, e.expires, e.size)) for e in told}


NO_KEY = Given(row(None, 9.0, 90), key=None)


def test_a_record_or_a_timer_that_fails_leaves_a_dead_letter_and_nothing_else(streamed: Make) -> None:
    stream = streamed(pipeline({"touchy": FAILING["Touchy"]}, watermark=MARK))
    for batch in BATCHES[:2]:
        stream.send("s", [*batch, NO_KEY, Given("no json", key="a")])
    written = stream.same()
    letters = [dict(record[4]) for record in written["demo.dead"]]
    assert [letter["whorl-operator"] for letter in letters].count(b"touchy") > 3
    assert any("whorl-topic" not in letter for letter in letters), "a timer has no place"


def test_rows_of_one_record_stay_in_order_and_what_is_skipped_leaves_nothing(streamed: Make) -> None:
    each = {"id": "each", "type": "flat_map", "from": "s", "explode": "array(x, x * 3, x * 2)", "as": "x"}
    text = json.loads(pipeline({"counted": {**FAILING["Counted"], "on_error": "skip", "from": "each"}}))
    stream = streamed(json.dumps({**text, "operators": [each, *text["operators"]]}))
    stream.send("s", [*BATCHES[0], row("a", -1.0, 9), NO_KEY])
    written = stream.same()
    told = [each["what"] for each in rows_of(written["counted"], b"c")]
    assert not written["demo.dead"] and told == ["1 0.5", "2 1.5", "3 1.0"]


def test_an_operator_behind_one_with_state(streamed: Make) -> None:
    shout = {"id": "shout", "type": "map", "from": "Several.all", "columns": {"what": "upper(what)"}}
    text = json.loads(pipeline({"Several": CASES["Several"]}))
    sinks = {**text["sinks"], "to_shout": {"type": "kafka", "topic": "shouted", "from": "shout"}}
    stream = streamed(json.dumps({**text, "operators": [*text["operators"], shout], "sinks": sinks}))
    stream.send("s", BATCHES[0])
    assert stream.same()["shouted"]


LATER = [row(who, 0.0, 300) for who in "wxyz"]
"""Of keys in both partitions, so that the watermark moves everywhere."""
TURNS: list[dict[str, list[Any]]] = [
    {"left": [row("a", 1.0, 0), row("b", 2.0, 1)]},
    {"right": [row("a", 3.0, 2), row("c", 4.0, 3)]},
    {"left": [row("a", 5.0, 4), row("c", 6.0, 4)]},
    {"left": LATER},
    {"right": LATER},
]


def test_several_inputs_meet_in_one_state(streamed: Make) -> None:
    stream = streamed(pipeline({"Meeting": python("Meeting")}, ("left", "right"), watermark=MARK))
    for turn in TURNS:
        stream.turn(**turn)
    told = [each["what"] for each in rows_of(stream.same()["Meeting"], b"a")]
    assert told == ["left ['left']", "right ['left', 'right']", "left ['left', 'right', 'left']", "00:30 after 3"]


JOIN = {"type": "join", "on": "who", "within": "10s", "time": ["at", "on"]}
JOINS = {kind: {**JOIN, "kind": kind} for kind in ("inner", "full", "semi")}


def joined() -> str:
    text = json.loads(pipeline(JOINS, ("left", "right"), watermark=MARK))
    right = {"schema": {"who": "string", "paid": "long", "on": "timestamp"}, "watermark": {**MARK, "column": "on"}}
    text["sources"]["right"].update(right)
    for sink in text["sinks"].values():
        sink["key"] = "who"
    return json.dumps(text)


def test_streams_that_are_joined(streamed: Make) -> None:
    """Rows alone are compared: those that a join makes in a query belong to no record."""
    stream = streamed(joined())
    for turn in TURNS:
        right = [{"who": each["who"], "paid": each["n"], "on": each["at"]} for each in turn.get("right", ())]
        stream.turn(left=turn.get("left", ()), right=right)
    written = stream.same_rows()
    assert [len(rows_of(written[kind], b"a")) for kind in JOINS] == [2, 2, 2]
    assert [each["paid"] for each in rows_of(written["full"], b"b")] == [None], "it has waited long enough"


def test_a_timer_by_the_clock_fires_in_a_later_batch(streamed: Make) -> None:
    """When, each host has its own clock to say, so rows alone are compared."""
    stream = streamed(pipeline({"Soon": python("Soon")}))
    stream.turn(s=[row("a", 1.0, 0), row("b", 1.0, 0), row("c", 0.0, 0)])
    stream.harness.clock.wait(1)
    assert {record[1] for record in stream.same_rows()["Soon"]} == {b"a", b"b"}
