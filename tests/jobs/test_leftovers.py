"""What the cleaner may take: tried with every combination of life, age and who holds it."""

from __future__ import annotations

from itertools import product

import pytest

from whorl.config.groups import Cleaner
from whorl.jobs.leftovers import Saved, Seen, leftovers

NOW, DAY = 1_000_000_000.0, 86400.0
OLD, CURRENT = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
KEEP = Cleaner(retention="7d")


def names(seen: Seen, cleaner: Cleaner = KEEP, only: str | None = None) -> list[str]:
    return [each.name for each in leftovers(seen, cleaner, NOW, only)]


def topic(uid: str, pipeline: str = "p", kind: str = "changelog") -> str:
    return f"whorl.{pipeline}.{uid}.one.{kind}"


@pytest.mark.parametrize(
    ("uid", "age", "held", "registered", "retention"),
    list(product([OLD, CURRENT], [0.0, 300.0, 5 * DAY, 8 * DAY, None], [True, False], [True, False], ["0s", "7d"])),
)
def test_never_what_is_in_force_or_in_the_making(
    uid: str, age: float | None, held: bool, registered: bool, retention: str
) -> None:
    written = None if age is None else NOW - age
    seen = Seen(
        lives={"p": CURRENT} if registered else {},
        held=frozenset({"p"} if held else ()),
        topics={topic(uid, kind="ledger"): written},
        checkpoints={f"p-{uid}": written or 0.0},
    )
    cleaner = Cleaner.model_validate({"retention": retention})
    allowed = uid == OLD and registered and (age is None or age >= cleaner.retention)
    in_the_making = held and (age is None or age < 600)
    found = names(seen, cleaner)
    assert (topic(uid, kind="ledger") in found) == (allowed and not in_the_making)
    if age is not None:
        assert (f"p-{uid}" in found) == (allowed and not in_the_making)


def test_what_is_younger_than_the_retention_stays() -> None:
    seen = Seen({"p": CURRENT}, topics={topic(OLD): NOW - 8 * DAY, topic(OLD, kind="ledger"): NOW - 6 * DAY})
    assert names(seen) == [topic(OLD)]


def test_other_topics_and_other_clusters_checkpoints_stay() -> None:
    strange = {"orders": 0.0, "whorl.p.status": 0.0, "whorl.register": 0.0, "p.dead": 0.0, f"whorl.p.{OLD}": 0.0}
    seen = Seen({"p": CURRENT}, topics=strange, checkpoints={f"p-{OLD}": 0.0, "mine": 0.0, "p": 0.0})
    assert names(seen) == []


def test_checkpoints_go_before_the_ledger_that_shows_whose_they_are() -> None:
    seen = Seen({"p": CURRENT}, topics={topic(OLD, kind="ledger"): 0.0}, checkpoints={f"p-{OLD}": 0.0})
    assert names(seen) == [f"p-{OLD}", topic(OLD, kind="ledger")]


def test_only_one_pipeline() -> None:
    seen = Seen({"p": CURRENT, "q.r": CURRENT}, topics={topic(OLD): 0.0, topic(OLD, "q.r"): 0.0})
    assert names(seen, only="q.r") == [topic(OLD, "q.r")]


def test_savepoints_past_their_time_go_but_never_the_newest() -> None:
    saved = [Saved("p", "a", NOW - 9 * DAY), Saved("p", "b", NOW - 8 * DAY), Saved("q", "c", NOW - 9 * DAY)]
    seen = Seen({}, savepoints=saved)
    assert names(seen, Cleaner(savepoints="7d")) == ["a"]
    assert names(seen) == []
