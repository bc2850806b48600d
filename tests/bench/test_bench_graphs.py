"""The labels that the graph benchmarks take for right, and the graphs themselves."""

from __future__ import annotations

import networkx as nx
import numpy as np
from bench.graph_edges import chain, labels, power_law, random_edges


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
