"""Two applications share nothing by accident: every name that is made for one, against every name that is made for another."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.jobs.preflight import shared
from whorl.plan import naming
from whorl.plan.plan import Plan
from whorl.plan.planner import make_plan
from whorl.query.checkpoint import Checkpoint
from whorl.query.ledger import wanted_ledger
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration

NAMES = (
    "a",
    "a.b",
    "a-b",
    "A",
    "a.b.c",
    "a b",
    "a/b",
    "ä",
    "x" * 200,
    "x" * 201,
    "whorl",
    "a.one",
    "one",
    "a.dead",
    "control",
)
TEXT = """
name: "{name}"
sources: {{in: {{type: kafka, topic: in, schema: {{k: string, n: long}}}}}}
operators:
  - {{id: one, type: count, key: k, keep: n}}
  - {{id: b, type: branch, outputs: [{{name: c, where: n > 1}}], default: d}}
  - {{id: two, type: sql, query: "SELECT k, count(*) AS n FROM b_c GROUP BY k"}}
  - {{id: three, type: latest, from: b.d, key: n}}
sinks:
  out: {{type: kafka, topic: out, from: two, key: k}}
  shown: {{type: console, from: three}}
settings: {{{settings}}}
"""


def plan_of(name: str, settings: str = "") -> Plan:
    Path("p.yaml").write_text(TEXT.format(name=name, settings=settings), "utf-8")
    loaded = load("p.yaml")
    return make_plan(checked(loaded), loaded.settings)


def made_for(plan: Plan, uid: str) -> set[tuple[str, str]]:
    """All that it would make or claim outside itself: what kind of thing it is, and its name."""
    name, ids = plan.pipeline, [component.id for component in plan.components]
    topics = {naming.control_topic(name), naming.status_topic(name), plan.dead_letter}
    topics |= {output.topic for output in plan.outputs if output.topic and output.kind.value != "sink"}
    topics |= {topic for component in plan.components for topic in plan.edges_into(component)}
    topics |= {naming.changelog_topic(name, uid, id) for id in ids}
    topics |= {wanted_ledger(naming.ledger_topic(name, uid, id)).name for id in ids}
    writers = {naming.driver_id(name), *(naming.task_id(uid, id, 1, 0) for id in ids)}
    writers |= {naming.query_id(uid, id) for id in ids} | {naming.seat_id(uid, id, "s") for id in ids}
    folders = {f"state/{naming.slug(name)}", *(Checkpoint.path_of("root", name, uid, id) for id in ids)}
    groups = {component.group for component in plan.components}
    kinds = {"topic": topics, "transactional id": writers, "folder": folders, "group": groups}
    return {(kind, each) for kind, names in kinds.items() for each in names}


def test_whatever_they_are_called_nothing_is_shared(folder: Path) -> None:
    made = {name: made_for(plan_of(name), f"{number:012x}") for number, name in enumerate(NAMES)}
    for one, other in combinations(NAMES, 2):
        assert not made[one] & made[other], (one, other)


def test_two_lives_of_one_share_no_state(folder: Path) -> None:
    plan = plan_of("p")
    both = made_for(plan, "0" * 12) & made_for(plan, "1" * 12)
    assert not [name for _, name in both if "changelog" in name or "ledger" in name or name.startswith("root")]


def registration(plan: Plan) -> Registration:
    tasks = {
        component.id: ComponentEntry(Layout(1, 1, 1), edges=plan.edges_into(component), group=component.group)
        for component in plan.components
        if not component.is_query
    }
    queries = {component.id: QueryEntry.of(plan, component, "") for component in plan.components if component.is_query}
    return replace(Registration.new(plan.pipeline), components=tasks, queries=queries)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("", "", []),
        ("group_id: team", "group_id: team", ["consumer group 'team."]),
        ("topic_prefix: own", "topic_prefix: own", ["topic 'own."]),
        ("topic_prefix: false", "topic_prefix: false", ["topic '"]),
    ],
)
def test_what_settings_make_them_share_is_refused_while_the_other_runs(
    folder: Path, one: str, other: str, told: list[str]
) -> None:
    first = registration(plan_of("first", one))
    found = [finding.message for finding in shared(plan_of("second", other), [first])]
    assert bool(found) == bool(told)
    assert all(any(message.startswith(f"the {word}") for word in told) for message in found)
    assert all("pipeline 'first' too" in message for message in found)
