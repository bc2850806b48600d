"""Operators with state: when records come to them as they are, and when a topic sorts them by key first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whorl import Context, KeyedOperator, Row
from whorl.errors import CheckFailed
from whorl.plan.explain import explain
from whorl.plan.plan import Plan

MakePlan = Callable[..., Plan]
SOURCES = """
sources:
  in: {type: kafka, topic: orders, key: a, schema: {a: long, b: long}}
  other: {type: kafka, topic: others, key: a, schema: {a: long, b: long}}
"""
SINKS = "sinks: {out: {type: kafka, topic: done, from: state}}\n"


class Kept(KeyedOperator):
    def process(self, key: int, record: Row, context: Context) -> None:
        context.emit(record)


def state(key: str = "", after: str = "in", id: str = "state") -> str:
    by = f", key: {key}" if key else ""
    return f"{{id: {id}, type: python, class: test_plan_state.Kept, from: {after}{by}}}"


FILTER = "{id: large, type: filter, where: a > 1, from: in}"
MAP = "{id: more, type: map, columns: {b: a + 1}, from: in}"
KEY = "{id: keyed, type: key_by, key: b, from: in}"


def cuts(plan: Plan) -> dict[tuple[str, str], str]:
    return {(cut.source, cut.target): cut.reason for cut in plan.cuts}


def pipeline(*operators: str) -> str:
    used = SOURCES if "other" in "".join(operators) else SOURCES.rsplit("  other", 1)[0]
    return f"{used}operators: [{', '.join(operators)}]\n{SINKS}"


@pytest.mark.parametrize(
    ("operators", "reason"),
    [
        ([state("a")], None),
        ([state()], None),
        ([FILTER, state("a", "large")], None),
        ([FILTER, MAP, state("", "[large, more]")], None),
        ([state("b")], "'state' keeps state by b"),
        ([MAP, state("a", "more")], "'state' keeps state by a"),
        ([KEY, state("", "keyed")], "'state' keeps state by the key of records"),
        ([state("", "[in, other]")], "'state' keeps state by the key of records"),
        ([state("a", id="first"), state("a", "first")], "'state' keeps state by a"),
    ],
)
def test_when_records_are_sorted_first(plan_of: MakePlan, operators: list[str], reason: str | None) -> None:
    """The code of a user's operator may give records other keys, so one more is sorted again."""
    plan = plan_of(pipeline(*operators))
    into_state = {why for (_, target), why in cuts(plan).items() if target == "state"}
    assert into_state == ({reason} if reason else set())
    sorted_ = [output for component in plan.components for output in component.outputs if output.sorted]
    assert all(output.keyed for output in sorted_) and bool(sorted_) == (reason is not None)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "state by a; in LMDB and a changelog; logical partitions: the largest partition count of its topics"),
        ({"cogroup": "true", "max_tasks": "4"}, "the highest common factor of the topics' partition counts, at most 4"),
    ],
)
def test_the_plan_tells_where_state_is(plan_of: MakePlan, settings: dict[str, str], words: str) -> None:
    assert words in explain(plan_of(pipeline(state("a")), **settings))


def test_cogrouped_topics_need_no_sorting(plan_of: MakePlan) -> None:
    (component,) = plan_of(pipeline(state("a", "[in, other]")), cogroup="true").components
    assert [input.id for input in component.inputs] == ["in", "other"]


TABLE = "tables: {known: {topic: known, key: a, schema: {a: long, name: string}}}\n"


def test_a_table_is_no_stream(plan_of: MakePlan) -> None:
    (component,) = plan_of(TABLE + pipeline(state("a", "[in, known]"))).components
    assert [(input.id, input.is_table) for input in component.inputs] == [("in", False), ("known", True)]
    assert [wire.source for wire in component.wires] == ["in", "state"]
    (placed,) = component.operators
    assert placed.enters is not None and placed.enters.names == ("a", "b")


@pytest.mark.parametrize("reader", ["{id: state, type: filter, where: a > 1, from: [in, known]}", state("a", "in")])
def test_who_may_read_a_table(plan_of: MakePlan, reader: str) -> None:
    text = TABLE + pipeline(reader)
    if "filter" not in reader:
        text = text.replace("from: state", "from: [state, known]")
    with pytest.raises(CheckFailed, match="reads the table 'known', but keeps no state by its key"):
        plan_of(text)


TIMED = """
sources:
  in: {type: kafka, topic: orders, key: a, schema: {a: long, at: timestamp}, watermark: {column: at, delay: 1s}}
  other: {type: kafka, topic: others, key: a, schema: {a: long, paid: timestamp}, watermark: {column: paid, delay: 1s}}
"""


def join(more: str = "") -> str:
    return f"{{id: state, type: join, from: [in, other], on: a, within: 1m, time: [at, paid]{more}}}"


def test_streams_that_meet_in_time_are_joined_in_tasks(plan_of: MakePlan) -> None:
    text = f"{TIMED}operators: [{join()}]\n{SINKS}"
    (component,) = plan_of(text, cogroup="true").components
    assert component.kept == {"state": ("a",)} and not component.is_query
    assert [input.watermark is not None for input in component.inputs] == [True, True]
    assert [output.keyed for output in component.outputs] == [True]
    assert set(cuts(plan_of(text)).values()) == {"'state' keeps state by a"}


@pytest.mark.parametrize("sql", ["", ", host: query"])
def test_where_a_query_is_beside_them_they_are_joined_there(plan_of: MakePlan, sql: str) -> None:
    after = "{id: after, type: sql, query: 'SELECT a, count(*) AS n FROM state GROUP BY a'}"
    (component,) = plan_of(
        f"{TIMED}operators: [{join(sql)}, {after}]\n{SINKS.replace('from: state', 'from: after')}"
    ).components
    assert component.is_query and component.stateful


def test_why_streams_cannot_be_joined_in_tasks(plan_of: MakePlan) -> None:
    text = TIMED.replace(", watermark: {column: paid, delay: 1s}", "")
    assert plan_of(f"{text}operators: [{join()}]\n{SINKS}").components[0].is_query
    with pytest.raises(CheckFailed, match="cannot run in tasks: no source of 'other' has a watermark of 'paid'"):
        plan_of(f"{text}operators: [{join(', host: tasks')}]\n{SINKS}")


def in_query(key: str = "a", after: str = "in", id: str = "state") -> str:
    return state(key, after, id)[:-1] + ", host: query, returns: {a: long, b: long}}"


SQL = "{id: sums, type: sql, query: 'SELECT a, sum(b) AS b FROM in GROUP BY a'}"


@pytest.mark.parametrize(
    ("operators", "cut"),
    [
        ([in_query("b")], {}),
        ([MAP, in_query("a", "more")], {}),
        ([in_query(id="first"), in_query("b", "first")], {("first", "state"): "'first' and 'state' both keep state in a query"}),
        (
            [SQL, in_query("a", "sums")],
            {("sums", "state"): "rows of 'state' have their record with them, those of 'sums' have none"},
        ),
    ],
)  # fmt: skip
def test_in_a_query_records_are_sorted_by_spark(
    plan_of: MakePlan, operators: list[str], cut: dict[object, str]
) -> None:
    assert cuts(plan_of(pipeline(*operators))) == cut


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        (in_query("a", "[in, known]"), "it looks into the table 'known', which only tasks have at hand"),
        ("{id: state, type: join, from: [in, known], on: a, host: query}", "it looks into the table 'known'"),
        (in_query("a", "[in, more]"), "its inputs have different columns, which a query would give to all rows"),
        (state("a")[:-1] + ", host: query}", "its columns are not known"),
    ],
)
def test_what_a_query_does_not_run(plan_of: MakePlan, operator: str, words: str) -> None:
    more = "{id: more, type: map, columns: {c: a + 1}, from: in}"
    with pytest.raises(CheckFailed, match=f"'state' cannot run in a query: {words}"):
        plan_of(TABLE + pipeline(*([more] if "more" in operator else []), operator))
