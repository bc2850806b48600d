"""The algorithms that come with Whorl and think like a vertex. Each goes on when edges arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whorl.operators.graphs.owners import Vertex as Id
from whorl.operators.graphs.vertices import Vertex, VertexProgram
from whorl.operators.program import ProgramContext
from whorl.state.states import ValueState

REST = "rest"
CHANGES = ""
"""Beside the votes by label: no vertex has this name."""
_FEWEST = 1e-9
"""Votes: what is less comes of rounding."""


class ShortestPaths(VertexProgram):
    """The distance of each vertex from one: it only ever becomes shorter. Of two edges between the same vertices the shorter one counts."""

    kept = "distance"
    distance = ValueState(float)
    merge = min

    def __init__(self, root: Id, **edges: Any) -> None:
        super().__init__(**edges)
        self._root = root

    def weighted(self, before: float | None, weight: float) -> float:
        if weight < 0:
            raise ValueError(f"the weight {weight:g} is less than nothing, and a path could become shorter for ever")
        return weight if before is None else min(before, weight)

    def compute(self, vertex: Vertex, messages: list[Any], context: ProgramContext) -> None:
        known, send = vertex.value, vertex.send
        found = min(messages, default=0.0 if vertex.id == self._root else None)
        if found is not None and (known is None or found < known):
            vertex.value = found
            for neighbour, weight in vertex.neighbours.items():
                send(neighbour, found + weight)
        elif known is not None:
            for neighbour in vertex.added:
                send(neighbour, known + vertex.neighbours[neighbour])


class Reachability(VertexProgram):
    """From which of some vertices each can be reached: ever more of them."""

    kept = "roots"
    roots = ValueState(list)

    def __init__(self, roots: Sequence[Id], **edges: Any) -> None:
        super().__init__(**edges)
        self._roots = frozenset(roots)

    @staticmethod
    def merge(one: list[Id], other: list[Id]) -> list[Id]:
        return [*one, *(each for each in other if each not in one)]

    def compute(self, vertex: Vertex, messages: list[Any], context: ProgramContext) -> None:
        known = vertex.value or []
        own = [vertex.id] if vertex.id in self._roots else []
        new = sorted({each for roots in (own, *messages) for each in roots}.difference(known))
        if new:
            vertex.value = sorted([*known, *new])
            vertex.send_to_neighbours(new)
        for neighbour in vertex.added if known else ():
            vertex.send(neighbour, known)


class PageRank(VertexProgram):
    """The rank of each vertex, by passing on what it has got since it last did (`rest`), as long as that is worth it.

    A new edge changes what all neighbours of its source were given, so the difference is sent to them: nothing is computed anew. Ranks
    are 1 on average, less what ends in vertices that lead nowhere; divided by their sum they are what others call PageRank.
    """

    kept = "rank"
    rank = ValueState(float)

    def __init__(self, damping: float = 0.85, tolerance: float = 1e-6, **edges: Any) -> None:
        super().__init__(**edges)
        self._damping, self._tolerance = damping, tolerance

    @staticmethod
    def merge(one: float, other: float) -> float:
        return one + other

    def weighted(self, before: float | None, weight: float) -> float:
        return _more_than_nothing(weight)

    def compute(self, vertex: Vertex, messages: list[Any], context: ProgramContext) -> None:
        if vertex.value is None:
            vertex.value = 0.0
            messages.append(1 - self._damping)
        elif vertex.added and vertex.value:
            self._correct(vertex)
        before = vertex.memo.get(REST, 0.0)
        rest = before + sum(messages)
        if abs(rest) > self._tolerance:
            vertex.value += rest
            self._pass_on(vertex, rest)
            rest = 0.0
        if rest != before:
            vertex.remember(REST, rest or None)

    def _pass_on(self, vertex: Vertex, rest: float) -> None:
        share, send = self._damping * rest / (sum(vertex.neighbours.values()) or 1), vertex.send
        for neighbour, weight in vertex.neighbours.items():
            send(neighbour, share * weight)

    def _correct(self, vertex: Vertex) -> None:
        """All that was ever passed on is what it would have been, had the edges been so from the beginning."""
        before = {**vertex.neighbours, **vertex.added}
        total, total_before = sum(vertex.neighbours.values()), sum(weight or 0.0 for weight in before.values())
        given = self._damping * vertex.value
        for neighbour, weight in vertex.neighbours.items():
            was = (before[neighbour] or 0.0) / total_before if total_before else 0.0
            vertex.send(neighbour, given * (weight / total - was))


class LabelPropagation(VertexProgram):
    """Communities: each vertex takes the label that most of its neighbours and itself have, by weight; of equals the smallest.

    Its own vote keeps neighbours from taking each other's label over and over. Some may do so all the same, so each vertex changes its mind
    `changes` times at most. Which communities come out depends on the order of things, as always with this algorithm.
    """

    kept = "label"
    label = ValueState(object)

    def __init__(self, changes: int = 20, **edges: Any) -> None:
        super().__init__(**{**edges, "directed": False})
        self._changes = changes

    def weighted(self, before: float | None, weight: float) -> float:
        return _more_than_nothing(weight)

    def compute(self, vertex: Vertex, messages: list[Any], context: ProgramContext) -> None:
        if vertex.value is None:
            vertex.value = vertex.id
        for neighbour, before in vertex.added.items():
            vertex.send(neighbour, [None, vertex.value, vertex.neighbours[neighbour] - (before or 0.0)])
        for left, taken, weight in messages:
            self._count(vertex, left, -weight)
            self._count(vertex, taken, weight)
        changes, best = vertex.memo.get(CHANGES, 0), self._best(vertex)
        if best != vertex.value and changes < self._changes:
            for neighbour, weight in vertex.neighbours.items():
                vertex.send(neighbour, [vertex.value, best, weight])
            vertex.value = best
            vertex.remember(CHANGES, changes + 1)

    def _count(self, vertex: Vertex, label: Id | None, weight: float) -> None:
        """A message may come before the one it takes back, so votes may be less than nothing for a while."""
        if label is not None:
            votes = vertex.memo.get(label, 0.0) + weight
            vertex.remember(label, votes if abs(votes) > _FEWEST else None)

    def _best(self, vertex: Vertex) -> Id:
        votes = {label: count for label, count in vertex.memo.items() if label != CHANGES}
        votes[vertex.value] = votes.get(vertex.value, 0.0) + max(vertex.neighbours.values(), default=1.0)
        most = max(votes.values())
        return min(label for label, count in votes.items() if count >= most - _FEWEST)


def _more_than_nothing(weight: float) -> float:
    if weight <= 0:
        raise ValueError(f"the weight {weight:g} is not more than nothing")
    return weight
