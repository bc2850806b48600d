"""The graph operators in whole pipelines, on the broker in memory: YAML in, tables out, and crashes at every point change nothing."""

from __future__ import annotations

import json
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


def test_a_crash_changes_no_label(tmp_path: Path) -> None:
    file = pipeline(tmp_path, "connected_components")
    undisturbed = PipelineHarness(file, partitions=3, tasks=2)
    undisturbed.send("edges", rows(EDGES))
    undisturbed.run()
    points = range(1, len(undisturbed.faults.points) + 1)
    for point in points[:: max(len(points) // CRASHES, 1)]:
        harness = PipelineHarness(file, partitions=3, tasks=2)
        harness.send("edges", rows(EDGES))
        harness.crash_at(point)
        with suppress(Crash):
            harness.run()
        harness.run()
        assert table(harness) == components(EDGES), f"after a crash at {point}"


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
