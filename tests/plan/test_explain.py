"""Plans as text, JSON and Mermaid against golden files; `WHORL_UPDATE_GOLDEN=1 pytest tests/plan` writes them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.plan.explain import explain
from whorl.plan.plan import Plan
from whorl.plan.structured import as_json, as_mermaid

MakePlan = Callable[..., Plan]
GOLDEN = Path(__file__).with_name("golden")
FORMS = {"txt": explain, "json": as_json, "mmd": as_mermaid}
FRAUD = """
name: fraud
sources:
  transactions:
    {type: kafka, topic: transactions, key: account, schema: {account: string, amount: double}, on_error: fail}
  trial: {type: list, rows: [{account: a, amount: 2000.0}]}
operators:
  - {id: both, type: union, from: [transactions, trial]}
  - {id: large, type: filter, where: amount > 1000, on_error: skip}
  - {id: route, type: branch, outputs: [{name: huge, where: amount > 10000}], default: rest}
  - {id: mark, type: select, from: route.huge, columns: [account], isolate: true}
sinks:
  alerts: {type: kafka, topic: alerts, from: mark, key: account}
  shown: {type: console, from: [route.rest, large]}
settings: {commit_interval: 50ms, guarantee: at_least_once}
"""
SHORT = """
- {id: p1, type: forward, to: [p2, p3]}
- {id: p2, type: sum, to: p4}
- {id: p3, type: forward, to: p4}
- {id: p4, type: sum, value: 10, to: sink}
"""
CONFIG = "{source_topic: in, sink_topic: out, parallelism: 2}"
COPY = (
    "{name: copy, sources: {in: {type: kafka, pattern: logs-.*, format: bytes}}, sinks: {out: {type: kafka, topic: b}}}"
)


def same_as_golden(name: str, text: str) -> None:
    file = GOLDEN / name
    if os.environ.get("WHORL_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "text", "config", "settings"),
    [
        ("fraud", FRAUD, "", {}),
        ("short", SHORT, CONFIG, {}),
        ("short_topics", SHORT, CONFIG, {"edges": "topics"}),
        ("copy", COPY, "", {}),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_golden(plan_of: MakePlan, name: str, text: str, config: str, settings: dict[str, str], form: str) -> None:
    same_as_golden(f"{name}.{form}", FORMS[form](plan_of(text, config, **settings)))


def test_json_is_json(plan_of: MakePlan) -> None:
    content = json.loads(as_json(plan_of(SHORT, CONFIG, edges="topics")))
    assert content["slots"] == {"spare": 2, "total": 4 * 2 + 2}
    assert [component["spark"]["tasks"] for component in content["components"]] == [2, 2, 2, 2]


def test_slots_are_told_as_a_rule_where_the_broker_decides(plan_of: MakePlan) -> None:
    text = explain(plan_of(COPY))
    assert "of min(partitions, cores) long-running tasks, one slot each" in text
    assert json.loads(as_json(plan_of(COPY)))["slots"]["total"] is None


def test_mermaid_escapes_what_it_would_take_for_its_own(plan_of: MakePlan) -> None:
    odd = "{sources: {'a\"#<b>': {type: list, rows: [1]}}, sinks: {out: {type: console}}}"
    assert "a#quot;#35;#lt;b#gt;<br/>list" in as_mermaid(plan_of(odd))
