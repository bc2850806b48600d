"""The graph operators in whole pipelines, on the broker in memory: YAML in, tables out, and crashes at every point change nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from whorl.config.loader import load
from whorl.flow.check import check
from whorl.testing import Crash, PipelineHarness

EDGES = [(1, 2), (4, 3), (2, 3), (7, 7), (9, 8), (3, 1), (8, 10), (12, 11), (10, 12), (2, 1)]
KINDS = {
    "connected_components": ({}, "component"),
    "shortest_paths": ({"root": 1}, "distance"),
    "reachability": ({"roots": [1, 9]}, "roots"),
    "pagerank": ({}, "rank"),
    "label_propagation": ({}, "label"),
}
CRASHES = 25


def pipeline(folder: Path, kind: str, schema: str = "{src: long, dst: long}", **options: Any) -> Path:
    file = folder / f"{kind}.yaml"
    given = json.dumps({"id": "found", "type": kind, "from": "edges", "publish": "table", **options})
    file.write_text(f"""
name: graph
sources:
  edges: {{type: kafka, topic: edges, schema: {schema}}}
operators:
  - {given}
settings: {{state: {{backend: memory}}}}
""")
    return file


def table(harness: PipelineHarness) -> dict[str, Any]:
    """The last row of each key that has one."""
    last = {entry.key.decode(): entry.value for entry in harness.broker.records("table")}
    return {key: json.loads(value) for key, value in last.items() if value is not None}


def rows(edges: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"src": a, "dst": b} for a, b in edges]


def components(edges: list[tuple[int, int]]) -> dict[str, Any]:
    parts = nx.connected_components(nx.Graph(edges))
    return {str(vertex): {"component": min(part)} for part in parts for vertex in part}


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_operator_checks_and_runs(kind: str, tmp_path: Path) -> None:
    options, result = KINDS[kind]
    file = pipeline(tmp_path, kind, **options)
    assert check(load(file)) == []
    harness = PipelineHarness(file, partitions=3, tasks=2)
    harness.send("edges", rows(EDGES))
    harness.run()
    found = table(harness)
    assert found and all(row.keys() == {result} for row in found.values())


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_components_grow_together_from_run_to_run(tasks: int, tmp_path: Path) -> None:
    harness = PipelineHarness(pipeline(tmp_path, "connected_components"), partitions=3, tasks=tasks)
    for until in (3, 7, len(EDGES)):
        harness.send("edges", rows(EDGES[until - 4 if until > 3 else 0 : until]))
        harness.run()
        assert table(harness) == components(EDGES[:until])


def after_crashes(file: Path, edges: list[tuple[int, int]]) -> Iterator[tuple[int, PipelineHarness]]:
    """After none (0), and after one at each of some points."""

    def fed() -> PipelineHarness:
        harness = PipelineHarness(file, partitions=3, tasks=2)
        harness.send("edges", rows(edges))
        return harness

    undisturbed = fed()
    undisturbed.run()
    yield 0, undisturbed
    points = range(1, len(undisturbed.faults.points) + 1)
    for point in points[:: max(len(points) // CRASHES, 1)]:
        harness = fed()
        harness.crash_at(point)
        with suppress(Crash):
            harness.run()
        harness.run()
        yield point, harness


def test_a_crash_changes_no_label(tmp_path: Path) -> None:
    for point, harness in after_crashes(pipeline(tmp_path, "connected_components"), EDGES):
        assert table(harness) == components(EDGES), f"after a crash at {point}"


def test_a_crash_changes_no_rank(tmp_path: Path) -> None:
    """What is passed on is added up, so a message that came twice, or not at all, would be seen."""
    edges = [(1, 2), (2, 3), (3, 1), (4, 3), (2, 4)]
    expected = nx.pagerank(nx.DiGraph(edges), tol=1e-12, max_iter=1000)
    for point, harness in after_crashes(pipeline(tmp_path, "pagerank", tolerance=1e-3), edges):
        found = {int(vertex): row["rank"] for vertex, row in table(harness).items()}
        shares = {vertex: rank / sum(found.values()) for vertex, rank in found.items()}
        assert shares == pytest.approx(expected, abs=5e-3), f"after a crash at {point}"


def test_a_crash_changes_no_community(tmp_path: Path) -> None:
    """Two cliques and a bridge: whatever order messages come in, each clique is one."""
    cliques = [range(1, 9), range(11, 19)]
    edges = [(a, b) for clique in cliques for a in clique for b in clique if a < b]
    for point, harness in after_crashes(pipeline(tmp_path, "label_propagation"), [*edges, (8, 18)]):
        found = table(harness)
        labels = [{found[str(vertex)]["label"] for vertex in clique} for clique in cliques]
        assert [len(each) for each in labels] == [1, 1] and labels[0] != labels[1], f"after a crash at {point}"


def test_a_star_through_the_engine(tmp_path: Path) -> None:
    harness = PipelineHarness(pipeline(tmp_path, "connected_components"), partitions=4, tasks=2)
    harness.send("edges", rows([(leaf, 5_000) for leaf in range(5_000)]))
    harness.run()
    assert {row["component"] for row in table(harness).values()} == {0} and len(table(harness)) == 5_001


def test_no_edge_is_a_dead_letter_and_an_empty_graph_is_none(tmp_path: Path) -> None:
    harness = PipelineHarness(pipeline(tmp_path, "connected_components", schema="{src: string, dst: string}"))
    harness.run()
    assert table(harness) == {}
    harness.send("edges", [{"src": "a", "dst": None}, {"src": "b", "dst": "a"}])
    harness.run()
    assert table(harness) == {"a": {"component": "a"}, "b": {"component": "a"}}
    (dead,) = harness.dead()
    assert "the column 'dst' names no vertex: None" in dead.error


def test_rows_leave_where_somebody_reads_them(tmp_path: Path) -> None:
    file = pipeline(tmp_path, "connected_components")
    file.write_text(file.read_text() + "sinks:\n  changes: {type: kafka, topic: changes, from: found, key: vertex}\n")
    harness = PipelineHarness(file)
    harness.send("edges", rows([(5, 6), (4, 5)]))
    harness.run()
    last = {row["vertex"]: row["component"] for row in harness.sink("changes")}
    assert last == {4: 4, 5: 4, 6: 4}


def test_a_root_that_cannot_be_is_found_by_check(tmp_path: Path) -> None:
    (finding,) = check(load(pipeline(tmp_path, "shortest_paths", root="home")))
    assert "the vertices are whole numbers, and 'home' is none" in finding.message
