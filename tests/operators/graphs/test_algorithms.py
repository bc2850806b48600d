"""The algorithms by vertex beside networkx on the same graphs, with edges that come later, in any order, through restarts."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.graphs.driving import Driven
from whorl.operators.graphs.algorithms import LabelPropagation, PageRank, Reachability, ShortestPaths
from whorl.operators.graphs.vertices import Vertex, VertexProgram

VERTICES = st.integers(0, 12)
WEIGHTED = st.lists(st.tuples(VERTICES, VERTICES, st.integers(0, 9)), max_size=30)


def rows(edges: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [{"src": a, "dst": b, "km": rest[0] if rest else 1} for a, b, *rest in edges]


def graph(edges: list[tuple[Any, ...]], kind: type = nx.DiGraph) -> nx.Graph:
    found = kind()
    for a, b, *rest in edges:
        weight = rest[0] if rest else 1
        before = found.get_edge_data(a, b, {"weight": weight})["weight"]
        found.add_edge(a, b, weight=min(weight, before))
    return found


@settings(max_examples=60, deadline=None)
@given(WEIGHTED, WEIGHTED, st.booleans(), st.integers(0, 999))
def test_shortest_paths_are_exact(first: Any, later: Any, directed: bool, seed: int) -> None:
    driven = Driven(lambda: ShortestPaths(root="0", weight="km", directed=directed), 3, random.Random(seed))
    driven.send(rows(first))
    driven.send(rows(later))
    whole = graph([*first, *later], nx.DiGraph if directed else nx.Graph)
    expected = nx.single_source_dijkstra_path_length(whole, 0) if 0 in whole else {}
    assert driven.kept("distance") == {str(vertex): distance for vertex, distance in expected.items()}


def test_a_weight_below_nothing_is_no_edge() -> None:
    with pytest.raises(ValueError, match="less than nothing"):
        ShortestPaths(root="0", weight="km").parse({"src": "a", "dst": "b", "km": -1}, None)


@settings(max_examples=60, deadline=None)
@given(WEIGHTED, WEIGHTED, st.integers(0, 999))
def test_reachability(first: Any, later: Any, seed: int) -> None:
    driven = Driven(lambda: Reachability(roots=["0", "5"]), 3, random.Random(seed))
    driven.send(rows(first))
    driven.send(rows(later))
    whole = graph([*first, *later])
    reached = {root: {root} | nx.descendants(whole, root) for root in (0, 5) if root in whole}
    expected = {str(v): [str(root) for root in reached if v in reached[root]] for v in whole}
    assert driven.kept("roots") == {vertex: roots for vertex, roots in expected.items() if roots}


def ranks(driven: Driven) -> dict[int, float]:
    kept = driven.kept("rank")
    return {int(vertex): rank / sum(kept.values()) for vertex, rank in kept.items()}


@pytest.mark.parametrize("dice", [None, random.Random(3)], ids=["in order", "thrown"])
def test_pagerank_as_networkx_has_it_also_when_edges_arrive(dice: random.Random | None) -> None:
    given = random.Random(5)
    edges = [(min(given.randrange(1000), given.randrange(1000)), given.randrange(1000)) for _ in range(5000)]
    driven = Driven(PageRank, 4, dice)
    for until in (2000, 4900, 5000):
        driven.send(rows(edges[:until] if until == 2000 else edges[until - (100 if until == 5000 else 2900) : until]))
        expected = nx.pagerank(nx.DiGraph(edges[:until]), tol=1e-12, max_iter=1000)
        found = ranks(driven)
        assert found.keys() == expected.keys()
        assert max(abs(found[vertex] - expected[vertex]) for vertex in expected) < 1e-6


def test_communities() -> None:
    cliques = [[f"{name}{n}" for n in range(8)] for name in "xyz"]
    edges = [(a, b) for clique in cliques for a in clique for b in clique if a < b]
    driven = Driven(LabelPropagation, 3)
    driven.send(rows([*edges, ("x7", "y7"), ("y0", "z7")]))
    kept = driven.kept("label")
    labels = [{kept[vertex] for vertex in clique} for clique in cliques]
    assert [len(found) for found in labels] == [1, 1, 1]
    assert all(found < set(clique) for found, clique in zip(labels, cliques, strict=True))


@given(WEIGHTED, st.integers(0, 999))
@settings(max_examples=50, deadline=None)
def test_communities_come_to_an_end(edges: Any, seed: int) -> None:
    driven = Driven(LabelPropagation, 3, random.Random(seed))
    driven.send(rows([(a, b) for a, b, _ in edges]))
    assert driven.kept("label").keys() == {str(vertex) for edge in edges for vertex in edge[:2]}


class Hops(VertexProgram):
    """As users write one."""

    def compute(self, vertex: Vertex, messages: list[Any], context: Any) -> None:
        hops = min(messages, default=0 if vertex.id == "start" else None)
        if hops is not None and (vertex.value is None or hops < vertex.value):
            vertex.value = hops
            vertex.send_to_neighbours(hops + 1)
        elif vertex.value is not None:
            for neighbour in vertex.added:
                vertex.send(neighbour, vertex.value + 1)


def test_a_program_of_ones_own() -> None:
    driven = Driven(Hops, 3, random.Random(1))
    driven.send(rows([("b", "c"), ("c", "d"), ("start", "b")]))
    assert driven.kept("value") == {"start": 0, "b": 1, "c": 2, "d": 3}
    driven.send(rows([("start", "c")]))
    assert driven.kept("value") == {"start": 0, "b": 1, "c": 1, "d": 2}
