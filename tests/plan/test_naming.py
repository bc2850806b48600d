"""Names are legal in Kafka, the same for the same words, and never meet."""

from __future__ import annotations

import re

import pytest

from whorl.plan import naming

LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}$")


@pytest.mark.parametrize("component", ["spend", "größe", "a b", "x" * 300])
def test_names_of_a_query_component_are_legal_and_differ(component: str) -> None:
    names = [
        naming.ledger_topic("my pipeline", "u1", component),
        naming.query_id("u1", component),
        naming.seat_id("u1", component, "7f3a"),
        naming.seat_id("u1", component, "7f3b"),
        naming.task_id("u1", component, 1, 0),
        naming.changelog_topic("my pipeline", "u1", component),
    ]
    assert all(LEGAL.match(name) for name in names)
    assert len(set(names)) == len(names)


def test_another_life_of_a_pipeline_has_other_names() -> None:
    assert naming.ledger_topic("p", "u1", "c") != naming.ledger_topic("p", "u2", "c")
    assert naming.query_id("u1", "c") != naming.query_id("u2", "c")
