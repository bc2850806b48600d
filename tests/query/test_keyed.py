"""The law of operators with state: of each key, what a query gives is what tasks give, in the same order. Here without Spark's JVM.

The watermark of a query moves with its batches, so batches have long silences between them.
"""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from typing import Any

import pytest
from kept_cases import BATCHES, BY_CLOCK, CASES, FAILING, SCHEMA, python, row
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester
from pyspark.sql.types import StringType, StructField, StructType

from whorl.operators.operator import OperatorType, Upstream
from whorl.operators.registry import OPERATORS
from whorl.query.frames import CAME, CHOICE, ERROR, EVENT, FAILED, HEADERS, KEY, OFFSET, PARTITION, TIME, TOPIC, VALUE
from whorl.query.keyed import MODES, clock_of
from whorl.query.processor import GROUP, NOW, KeyedWork, Processor
from whorl.query.schemas import struct_of
from whorl.schema import Schema
from whorl.sinks.kafka import key_maker
from whorl.testing import OperatorHarness

CARRIED = Schema.of(
    {KEY: "binary", CAME: "binary", VALUE: "binary", TOPIC: "string", PARTITION: "int", OFFSET: "long", TIME: "long",
     HEADERS: "array<struct<key:string,value:binary>>", ERROR: "string", FAILED: "string"}
)  # fmt: skip
LATER = 1 << 62


def operator_of(options: dict[str, Any]) -> OperatorType:
    kind = OPERATORS[options["type"]]
    given = {name: value for name, value in options.items() if name != "type"}
    return kind(kind.Options.model_validate(given)).reading([Upstream("input", SCHEMA)])


class InQuery:
    """An operator as Spark would call it, batch by batch."""

    def __init__(self, options: dict[str, Any], action: str = "dead_letter", watermark: bool = True) -> None:
        operator = operator_of(options)
        leaves = operator.output(SCHEMA)
        clock, fires = clock_of(operator, SCHEMA, "op", watermark)
        columns = Schema.of({**dict(CARRIED), EVENT: "long", **dict(SCHEMA), GROUP: "binary", NOW: "long"})
        given = struct_of(columns, "op")
        assert leaves is not None
        made = StructType(
            [*struct_of(CARRIED, "op"), StructField(CHOICE, StringType()), *struct_of(leaves, "op").fields]
        )
        self.names = list(leaves.names)
        self._given, self._key, self._offset = given.names, key_maker(operator.keyed_by() or ()), 0
        self.work = KeyedWork("op", operator, SCHEMA, action, ("input",), given, made, clock, watermark, fires)
        self._tester = TwsTester(Processor(self.work), timeMode=MODES[clock], eventTimeExtractor=lambda _: LATER)
        self.made: list[Row] = []

    def batch(self, rows: list[dict[str, Any]]) -> None:
        """Keys in any order, and the rows of a key backwards: the shuffle promises neither."""
        by_key: dict[bytes | None, list[Row]] = {}
        for each in rows:
            by_key.setdefault(self._key(each), []).append(self._row(each))
        for key, listed in sorted(by_key.items(), key=repr):
            self.made += self._tester.test(key, listed[::-1])
        if self.work.clock == "event":
            newest = max(_ms(each["at"]) for each in rows)
            self.made += self._tester.setWatermark(max(newest, self._tester._currentWatermarkMs + 1))

    def pass_time(self, now: int) -> None:
        self.made += self._tester.setProcessingTime(now)

    def kept(self, key: bytes) -> int:
        return sum(len(self._tester.peekMapState(name, key)) for name in ("entries", "timers"))

    def _row(self, each: dict[str, Any]) -> Row:
        self._offset += 1
        time, key = _ms(each["at"]), self._key(each)
        carried = {CAME: key, KEY: b"own", TOPIC: "s", PARTITION: 0, OFFSET: self._offset, TIME: time, EVENT: time}
        columns = {**carried, **each, "tags": list(each["tags"].items()), GROUP: key, NOW: 0}
        return Row(**{name: columns.get(name) for name in self._given})

    def given(self) -> dict[bytes | None, list[Any]]:
        found: dict[bytes | None, list[Any]] = {}
        for each in (made.asDict() for made in self.made):
            what: Any = (each[CHOICE] or "", {name: each[name] for name in self.names}, each[TIME])
            if each[ERROR] is not None:
                what = (each[FAILED], each[ERROR], each[OFFSET] is None)
            found.setdefault(each[CAME], []).append((each[KEY], *what))
        return found


def harness_of(options: dict[str, Any]) -> OperatorHarness:
    kind = {**options}
    return OperatorHarness.of(kind.pop("type"), SCHEMA, **kind)


def in_tasks(options: dict[str, Any]) -> dict[bytes | None, list[Any]]:
    """By key of the record or timer, as `InQuery.given`: the key that it leaves with, output, row and time; or its failure."""
    harness = harness_of(options)
    key = key_maker(operator_of(options).keyed_by() or ())
    found: dict[bytes | None, list[Any]] = {}
    for each in chain.from_iterable(BATCHES):
        before = len(harness.emitted)
        try:
            harness.send(None, each, at=each["at"])
        except Exception as error:
            found.setdefault(key(each), []).append((key(each), "op", f"{type(error).__name__}: {error}", False))
        _add(found, harness.emitted[before:])
    return found


def _add(found: dict[bytes | None, list[Any]], emitted: list[Any]) -> None:
    for output, made, metadata in emitted:
        found.setdefault(metadata.message.key(), []).append((metadata.key, output, made, metadata.timestamp))


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)


@pytest.mark.parametrize("case", [*sorted(CASES.keys() - {"Many"}), "Counted"])
def test_as_in_tasks(case: str) -> None:
    options = {**CASES, **FAILING}[case]
    query = InQuery(options)
    for batch in BATCHES:
        query.batch(batch)
    expected = in_tasks(options)
    assert expected and query.given() == expected


@pytest.mark.parametrize("case", BY_CLOCK)
def test_as_in_tasks_by_the_clock(case: str) -> None:
    harness, query = harness_of(BY_CLOCK[case]), InQuery(BY_CLOCK[case], watermark=False)
    query.pass_time(round(harness.clock() * 1000))
    for batch, seconds in zip(BATCHES, (35, 50, 90), strict=True):
        for each in batch:
            harness.send(None, each, at=each["at"])
        query.batch(batch)
        harness.pass_time(seconds)
        query.pass_time(round(harness.clock() * 1000))
    expected: dict[bytes | None, list[Any]] = {}
    _add(expected, harness.emitted)
    assert expected and query.given() == expected


def test_many_records_at_once() -> None:
    query = InQuery(CASES["Many"])
    for batch in BATCHES:
        query.batch(batch)
    assert [made["what"] for _, _, made, _ in query.given()[b"a"]] == ["1.5", "4.0", "3.5", "6.5", "8.5", "10.5"]


def test_a_timer_that_fails_leaves_nothing_but_its_failure() -> None:
    query = InQuery(FAILING["Touchy"])
    query.batch([row("a", 2.0, 0), row("a", 1.0, 1)])
    query.batch([row("a", 1.0, 30)])
    told = [made if isinstance(made, str) else made["what"] for _, _, made, _ in query.given()[b"a"]]
    assert told == ["2.0", "3.0", "RuntimeError: odd", "00:06", "1.0"]


def test_a_row_that_is_not_as_declared_fails_its_record_and_keeps_nothing() -> None:
    query = InQuery(python("Misfit"))
    query.batch([row("a", 1.0, 0), row("a", -1.0, 1), row("a", 1.0, 2)])
    first, failed, last = query.given()[b"a"]
    assert (first[2]["what"], last[2]["what"]) == ("1", "2") and failed[1] == "op"


def test_without_a_key_there_is_no_state() -> None:
    query = InQuery(CASES["count"])
    query.batch([{**row("a", 1.0, 0), "who": None}])
    ((key, operator, error, _),) = query.given()[None]
    assert (key, operator) == (None, "op") and "the record has no key" in error


@pytest.mark.parametrize(("action", "left"), [("skip", [""]), ("fail", None)])
def test_other_ways_of_failing(action: str, left: list[str] | None) -> None:
    query = InQuery(FAILING["Counted"], action)
    if left is None:
        with pytest.raises(RuntimeError, match=r"\{op\} \{s/0/1\} ValueError: negative"):
            query.batch([row("a", -1.0, 0)])
    else:
        query.batch([row("a", -1.0, 0)])
        assert [error for _, _, error, _ in query.given()[b"a"]] == left


def test_the_clock_wakes_only_what_goes_by_it() -> None:
    cases = {**CASES, **FAILING, "timed": python("Reminder")}
    clocks = {case: InQuery(options, watermark=False).work.clock for case, options in cases.items()}
    assert [case for case, clock in clocks.items() if clock == "processing"] == ["Diary", "Touchy", "timed"]
    assert {clocks["count"], clocks["sessionize"]} == {None}


def test_timers_and_a_time_to_live_by_the_clock() -> None:
    query = InQuery(python("Reminder"), watermark=False)
    query.pass_time(1_000_000)
    query.batch([row("a", 1.0, 0)])
    query.pass_time(1_010_001)
    assert [made["what"] for _, _, made, _ in query.given()[b"a"]] == ["1"] and query.kept(b"a") == 1
    query.pass_time(1_030_002)
    assert query.kept(b"a") == 0, "what has expired is swept"


def test_what_has_expired_in_event_time_is_swept() -> None:
    query = InQuery(CASES["Forgetful"])
    query.batch([row("a", 1.0, 0)])
    assert query.kept(b"a") == 1
    query.batch([row("b", 1.0, 60)])
    assert query.kept(b"a") == 0


def test_a_timer_of_the_other_clock_is_refused() -> None:
    query = InQuery(python("Reminder"))
    with pytest.raises(RuntimeError, match="it sets a timer in processing time, and its query goes by event time"):
        query.batch([row("a", 1.0, 0)])
