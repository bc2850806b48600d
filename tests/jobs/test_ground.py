"""What a plan finds in a cluster, and where reading begins there; against a cluster that only answers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whorl.config.loader import load
from whorl.config.settings import Settings
from whorl.flow.check import checked
from whorl.jobs.begin import first_positions
from whorl.jobs.gaps import Terms
from whorl.jobs.ground import survey
from whorl.jobs.preflight import Flight, _own_topics
from whorl.plan import naming
from whorl.plan.plan import Plan
from whorl.plan.planner import make_plan
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration

Place = tuple[str, int]
TERMS = Terms(Settings())
PIPELINE = """
name: orders
sources: {in: {type: kafka, START}}
operators:
  - {id: a, type: forward, from: in}
  - {id: b, type: forward, from: {id: a, via: topic}}
sinks: {out: {type: kafka, topic: done, from: b}}
"""


class Answers:
    """A cluster with these topics; every partition holds offsets 0 to 499."""

    def __init__(self, *topics: str) -> None:
        self._topics = topics

    def partition_counts(self) -> dict[str, int]:
        return dict.fromkeys(self._topics, 1)

    def earliest(self, places: Iterable[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, 0)

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, 500)


def plan(folder: Path, source: str) -> Plan:
    file = folder / "orders.yaml"
    file.write_text(PIPELINE.replace("START", source))
    loaded = load(file)
    return make_plan(checked(loaded), loaded.settings)


def test_a_pattern_does_not_match_what_the_pipeline_itself_writes(tmp_path: Path) -> None:
    cluster = Answers("orders.eu", "orders.dead", "orders.a_b", "whorl.orders.status", "__consumer_offsets", "done")
    ground = survey(plan(tmp_path, "pattern: '.*'"), cluster, None)  # type: ignore[arg-type]
    assert ground.topics["a"] == {"in": ("orders.eu",)}


def test_a_first_start_leaves_what_an_earlier_run_left_on_an_edge(tmp_path: Path) -> None:
    cluster, made = Answers("orders", "orders.a_b", "done"), plan(tmp_path, "topic: orders")
    ground = survey(made, cluster, None)  # type: ignore[arg-type]
    a, b = made.components
    assert first_positions(cluster, a, ground, TERMS, {}) == {("orders", 0): 0}  # type: ignore[arg-type]
    assert first_positions(cluster, b, ground, TERMS, {}) == {("orders.a_b", 0): 500}  # type: ignore[arg-type]


def test_partitions_that_joined_are_read_from_their_first_record(tmp_path: Path) -> None:
    cluster, made = Answers("orders", "done"), plan(tmp_path, "topic: orders, start: latest")
    ground = survey(made, cluster, None)  # type: ignore[arg-type]
    ground.partitions["orders"] = 2
    had = {("orders", 0): 77}
    assert first_positions(cluster, made.components[0], ground, TERMS, had) == {("orders", 1): 0}  # type: ignore[arg-type]


def test_a_changelog_or_a_ledger_that_is_gone_is_not_made_anew_in_silence(tmp_path: Path) -> None:
    made = plan(tmp_path, "topic: orders")
    entry = ComponentEntry(Layout(1, 1, 1), topics=("orders",))
    before = Registration("orders", "u", None, {"a": entry, "gone": entry}, {"b": QueryEntry()})
    changelog, ledger = naming.changelog_topic("orders", "u", "a"), naming.ledger_topic("orders", "u", "b")

    def findings(*topics: str) -> list[str]:
        cluster = Answers("orders", "done", *topics)
        flight = Flight(made, survey(made, cluster, before), cluster, before, False)  # type: ignore[arg-type]
        assert all("whorl resume" in each.hint and "--fresh" in each.hint for each in _own_topics(flight))
        return [f"{each.code}: {each.message}" for each in _own_topics(flight)]

    assert findings(changelog, ledger) == []
    assert findings(ledger) == [
        f"own-topic-gone: topic '{changelog}' is gone, which held state and positions of component 'a'"
    ]
    assert findings(changelog) == [
        f"own-topic-gone: topic '{ledger}' is gone, which held the log of what it has written of component 'b'"
    ]
