"""What a file changes of the pipeline that has run under its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whorl import Context, KeyedOperator, Row
from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.jobs.changes import Label, changes, refused
from whorl.plan.plan import Host, Plan
from whorl.plan.planner import make_plan
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, Registration

BEFORE = """
name: changing
sources: {in: {type: kafka, topic: in, key: a, schema: {a: string, b: string}}}
operators:
  - {id: first, type: filter, where: a is not null, from: in}
  - {id: kept, type: python, class: test_changes.Kept, key: a, from: first}
  - {id: total, type: count, from: first}
sinks: {out: {type: kafka, topic: out, from: [kept, total]}}
"""


class Kept(KeyedOperator):
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
    registration = Registration.new(plan.pipeline)
    for component in plan.on(Host.TASKS):
        entry = ComponentEntry(Layout(0, 1, 4), (), ("in",), component.kept, component.versions)
        registration = registration.with_layout(component.id, entry)
    return Registration.decode(registration.encode())


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({"where: a is not null": "where: b is not null"}, []),
        ({"id: total": "id: sum", "kept, total": "kept, sum"}, [("loses state", "total"), ("safe", "")]),
        ({"key: a, from: first": "key: b, from: first"}, [("loses state", "kept"), ("safe", "")]),
        ({"id: kept, type": "id: kept, isolate: true, type"}, [("loses state", "kept"), ("safe", "")]),
        ({"id: first": "id: start", "from: first": "from: start"}, [("loses state", ""), ("safe", "")]),
    ],
)
def test_changes_and_what_becomes_of_state(
    tmp_path: Path, edits: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    """The last but one moves an operator to a component of its own, and so away from its changelog."""
    before, text = registered(plan_of(tmp_path, BEFORE)), BEFORE
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    found = changes(plan_of(tmp_path, text), before)
    assert [(change.label.value, change.operator) for change in found] == expected


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
