"""The labels that the graph benchmarks take for right, and the graphs themselves."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from bench.graph_edges import chain, labels, power_law, random_edges
from bench.places import PIPELINES

from bench import recursion
from whorl.testing import PipelineHarness


def test_labels_are_those_of_networkx() -> None:
    for edges in (random_edges(300, 200), power_law(300, 250), chain(50)):
        parts = nx.connected_components(nx.Graph(edges.tolist()))
        assert labels(edges) == {vertex: min(part) for part in parts for vertex in part}


def test_a_power_law_has_hubs_anywhere() -> None:
    degrees = np.bincount(power_law(10_000, 20_000).ravel())
    assert degrees.max() > 50 * degrees.mean()
    assert degrees[:100].max() < degrees.max()


def test_no_edges_no_labels() -> None:
    assert labels(np.empty((0, 2), np.int64)) == {}


def test_the_pipeline_with_two_loops_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAME", "SOURCE", "SINK"):
        monkeypatch.setenv(f"BENCH_{name}", name.lower())
    harness = PipelineHarness(PIPELINES / "recursion.yaml", partitions=2, tasks=2)
    sent = [json.loads(recursion.record(number)[1]) for number in range(60)]
    harness.send("source", sent)
    harness.run()
    assert sorted((row["k"], row["n"]) for row in harness.sink("sink")) == sorted((row["k"], row["n"]) for row in sent)
    table = {int(entry.key): json.loads(entry.value)["component"] for entry in harness.broker.records("sink.table")}
    assert table == labels(np.array([[row["src"], row["dst"]] for row in sent]))
