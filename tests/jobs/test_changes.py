"""What a file changes of the pipeline that has run under its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whorl import Context, KeyedOperator, MapState, Row, ValueState
from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.jobs.changes import Label, accepted, changes, refused
from whorl.jobs.resume import on_former_hosts
from whorl.plan.plan import Host, Plan
from whorl.plan.planner import make_plan
from whorl.query.pins import fingerprint
from whorl.savepoints.loss import Loss
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration

BEFORE = """
name: changing
sources: {in: {type: kafka, topic: in, key: a, schema: {a: string, b: string}}}
operators:
  - {id: first, type: filter, where: a is not null, from: in}
  - {id: kept, type: python, class: test_changes.Kept, key: a, from: first}
  - {id: total, type: count, from: first}
sinks: {out: {type: kafka, topic: out, from: [kept, total]}}
"""


QUERY = """
name: changing
sources: {in: {type: kafka, topic: in, key: a, format: json, schema: {a: string, b: string}}}
operators:
  - {id: total, type: count, key: a, host: HOST, from: in}
sinks: {out: {type: kafka, topic: out, from: total}}
"""


class Kept(KeyedOperator):
    one: ValueState[int] = ValueState(int)
    many: MapState[str, int] = MapState(str, int)

    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit(record)


class Renamed(KeyedOperator):
    one: ValueState[int] = ValueState(int)
    other: MapState[str, int] = MapState(str, int)

    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit(record)


class Next(Kept):
    version = 2


class Migrating(Next):
    def migrate(self, state: str, key: str, value: Any, version: int) -> Any:
        return value


def plan_of(folder: Path, text: str) -> Plan:
    file = folder / "changing.yaml"
    file.write_text(text)
    loaded = load(file)
    return make_plan(checked(loaded), loaded.settings)


def registered(plan: Plan) -> Registration:
    queries = {each.id: QueryEntry.of(plan, each, fingerprint(each)) for each in plan.on(Host.QUERY)}
    registration = replace(Registration.new(plan.pipeline), queries=queries)
    for component in plan.on(Host.TASKS):
        kept = {"kept": component.kept, "versions": component.versions}
        entry = ComponentEntry(Layout(0, 1, 4), topics=("in",), **kept, types=component.types, states=component.states)
        registration = registration.with_layout(component.id, entry)
    return Registration.decode(registration.encode())


def edited(text: str, edits: dict[str, str]) -> str:
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({"where: a is not null": "where: b is not null"}, []),
        ({"id: total": "id: sum", "kept, total": "kept, sum"}, [("loses state", "total"), ("safe", "")]),
        ({"key: a, from: first": "key: b, from: first"}, [("loses state", "kept"), ("safe", "")]),
        ({"id: kept, type": "id: kept, isolate: true, type"}, [("loses state", "kept"), ("safe", "")]),
        (
            {"id: first": "id: start", "from: first": "from: start"},
            [("loses state", "kept"), ("loses state", "total"), ("safe", "")],
        ),
        ({"type: count": "type: latest"}, [("loses state", "total")]),
        ({"test_changes.Kept": "test_changes.Renamed"}, [("loses state", "kept")]),
    ],
)
def test_changes_and_what_becomes_of_state(
    tmp_path: Path, edits: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    """The last but one moves an operator to a component of its own, and so away from its changelog."""
    before = registered(plan_of(tmp_path, BEFORE))
    found = changes(plan_of(tmp_path, edited(BEFORE, edits)), before)
    assert [(change.label.value, change.operator) for change in found] == expected


def test_what_was_registered_without_names_is_not_compared_by_them(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, BEFORE)
    (id,) = registered(plan).components
    before = Registration.new(plan.pipeline).with_layout(
        id, ComponentEntry(Layout(0, 1, 4), topics=("in",), kept=plan.components[0].kept)
    )
    assert list(changes(plan_of(tmp_path, BEFORE.replace("test_changes.Kept", "test_changes.Renamed")), before)) == []


def test_a_window_for_a_running_average_begins_from_nothing(tmp_path: Path) -> None:
    text = BEFORE.replace("type: count", "type: average, of: b").replace("b: string", "b: double")
    before = registered(plan_of(tmp_path, text))
    (change,) = changes(plan_of(tmp_path, text.replace("of: b", "of: b, window: 1h")), before)
    assert change.label is Label.LOSES and "'count_and_sum'" in change.what
    assert change.loss == Loss("first", "total", ("count_and_sum",))


@pytest.mark.parametrize(("before", "now"), [("tasks", "query"), ("query", "tasks")])
def test_another_host_needs_a_savepoint(tmp_path: Path, before: str, now: str) -> None:
    had = registered(plan_of(tmp_path, QUERY.replace("HOST", before)))
    plan = plan_of(tmp_path, QUERY.replace("HOST", now))
    assert [change.label for change in changes(plan, had)] == [Label.SAVEPOINT]
    (finding,) = refused(plan, had, {"total"})
    assert finding.code == "manifest" and "whorl savepoint changing" in finding.hint
    assert list(refused(on_former_hosts(plan, had), had, ())) == []


def test_queries_that_come_go_and_change(tmp_path: Path) -> None:
    text = QUERY.replace("HOST", "query")
    before, renamed = registered(plan_of(tmp_path, text)), edited(text, {"total": "sum"})
    assert list(changes(plan_of(tmp_path, text), before)) == []
    (change,) = changes(plan_of(tmp_path, text.replace("key: a, host", "key: a, as: n, host")), before)
    assert change.label is Label.SPARK and not change.code
    found = list(changes(plan_of(tmp_path, renamed), before))
    assert [(each.label, each.operator) for each in found] == [(Label.LOSES, "total"), (Label.SAFE, "")]
    assert list(refused(plan_of(tmp_path, renamed), before, {"total"})) == []


def test_a_topic_that_is_not_read_any_more(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, BEFORE)
    before, read = registered(plan), {"first": ["other"]}
    (change,) = changes(plan, before, read)
    assert change.label is Label.LOSES and "has read 'in' and does not now" in change.what
    assert [finding.code for finding in refused(plan, before, (), read)] == ["manifest"]
    assert accepted(plan, before, {"first"}, read) == [Loss("first", topics=("in",))]


def test_a_component_may_be_left_behind_with_all_that_it_keeps(tmp_path: Path) -> None:
    before = registered(plan_of(tmp_path, BEFORE))
    plan = plan_of(tmp_path, edited(BEFORE, {"id: first": "id: start", "from: first": "from: start"}))
    (finding,) = refused(plan, before, {"total"})
    assert finding.code == "state-lost" and "component 'first' is no more" in finding.message
    assert "--accept-loss kept" in finding.hint
    assert list(refused(plan, before, {"kept", "total"})) == []
    assert set(accepted(plan, before, {"kept", "total"})) == {Loss("first")}


def test_a_component_without_state_is_named_by_its_first_operator(tmp_path: Path) -> None:
    text = "name: p\nsources: {in: {type: kafka, topic: in}}\noperators: [{id: NAME, type: forward}]\n"
    text += "sinks: {out: {type: kafka, topic: out}}\n"
    before = registered(plan_of(tmp_path, text.replace("NAME", "one")))
    plan = plan_of(tmp_path, text.replace("NAME", "two"))
    assert [finding.code for finding in refused(plan, before, ())] == ["manifest"]
    assert list(refused(plan, before, {"one"})) == []


def test_a_pipeline_that_has_not_run_changes_nothing(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, BEFORE)
    assert list(changes(plan, None)) == []
    assert [change.label for change in changes(plan, Registration.new("changing"))] == [Label.SAFE]


@pytest.mark.parametrize(
    ("before", "now", "label", "words"),
    [
        (
            "Kept",
            "Migrating",
            "needs migration",
            "has kept state of version 1, and is of version 2: its method 'migrate'",
        ),
        ("Kept", "Next", "cannot read its state", "and is of version 2, with no method 'migrate'"),
        ("Migrating", "Kept", "cannot read its state", "has kept state of version 2, and is of version 1"),
        ("Migrating", "Next", "", ""),
    ],
)
def test_versions_of_what_is_kept(tmp_path: Path, before: str, now: str, label: str, words: str) -> None:
    registration = registered(plan_of(tmp_path, BEFORE.replace("test_changes.Kept", f"test_changes.{before}")))
    found = list(changes(plan_of(tmp_path, BEFORE.replace("test_changes.Kept", f"test_changes.{now}")), registration))
    assert [(change.label.value, change.operator) for change in found] == ([(label, "kept")] if label else [])
    assert not words or words in found[0].what


def test_what_a_run_does_not_start_with(tmp_path: Path) -> None:
    """Loss may be accepted; state that cannot be read is not lost, and in the way."""
    before = registered(plan_of(tmp_path, BEFORE))
    other_key = plan_of(tmp_path, BEFORE.replace("key: a, from: first", "key: b, from: first"))
    assert [finding.code for finding in refused(other_key, before, ())] == ["state-lost"]
    assert list(refused(other_key, before, {"kept"})) == []
    (finding,) = refused(plan_of(tmp_path, BEFORE.replace("test_changes.Kept", "test_changes.Next")), before, {"kept"})
    assert finding.code == "state-version" and "migrate(self, state, key, value, version)" in finding.hint
    assert (
        list(refused(plan_of(tmp_path, BEFORE.replace("test_changes.Kept", "test_changes.Migrating")), before, ()))
        == []
    )
