"""Connected components whatever the order of edges and messages, and whenever a logical partition starts anew from its state."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.graphs.driving import Driven
from whorl.operators.graphs.components import ConnectedComponents

Edge = tuple[int, int]


def components(edges: list[Edge]) -> dict[str, int]:
    graph = nx.Graph(edges)
    return {str(vertex): min(part) for part in nx.connected_components(graph) for vertex in part}


def numbered() -> ConnectedComponents:
    return ConnectedComponents("a", "b", int)


def rows(edges: list[Edge]) -> list[dict[str, int]]:
    return [{"a": a, "b": b} for a, b in edges]


VERTICES = st.integers(0, 25)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(VERTICES, VERTICES), max_size=40), st.integers(1, 6), st.integers(0, 999))
def test_any_order_doubles_loops_and_restarts(edges: list[Edge], partitions: int, seed: int) -> None:
    dice = random.Random(seed)
    driven = Driven(numbered, partitions, dice)
    driven.send(rows(edges))
    assert driven.kept("component") == components(edges)
    more = [(dice.randrange(30), dice.randrange(30)) for _ in range(10)]
    driven.send(rows([*more, *((b, a) for a, b in edges)]))
    assert driven.kept("component") == components([*edges, *more])


@pytest.mark.parametrize("order", ["along", "shuffled", "renamed"])
def test_a_chain_takes_few_rounds(order: str) -> None:
    dice, edges = random.Random(7), [(n, n + 1) for n in range(1999)]
    if order == "renamed":
        names = dice.sample(range(2000), 2000)
        edges = [(names[a], names[b]) for a, b in edges]
    if order != "along":
        dice.shuffle(edges)
    driven = Driven(numbered, partitions=16)
    driven.send(rows(edges))
    assert set(driven.kept("component").values()) == {0}
    assert driven.rounds < 30


@pytest.mark.parametrize("middle", [0, 100_000])
def test_a_star_is_no_trouble(middle: int) -> None:
    driven = Driven(numbered)
    driven.send(rows([(middle, leaf) for leaf in range(100_001)]))
    assert set(driven.kept("component").values()) == {0}
    assert driven.messages < 100, "many facts in few messages"


def test_text_is_ordered_as_text_and_numbers_among_it_are_text() -> None:
    driven = Driven(lambda: ConnectedComponents("a", "b", str))
    driven.send([{"a": "ü", "b": 10}, {"a": 9, "b": 10}, {"a": "x", "b": "x"}])
    assert driven.kept("component") == {"ü": "10", "10": "10", "9": "10", "x": "x"}


@pytest.mark.parametrize(
    "row", [{"a": 1}, {"a": 1, "b": None}, {"a": 1.5, "b": 2}, {"a": True, "b": 2}, {"a": "", "b": "x"}]
)
@pytest.mark.parametrize("kind", [int, str])
def test_what_is_no_edge_is_told(row: dict[str, object], kind: type) -> None:
    program = ConnectedComponents("a", "b", kind)
    with pytest.raises(ValueError, match="names no vertex"):
        program.parse(row, None)
