"""An edge as a record tells it: two columns that name vertices, and maybe one with a weight."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from whorl.operators.graphs.owners import Vertex
from whorl.operators.record import Row

LONGEST = 10_000
"""Characters of a vertex: blocks of many must fit into a record."""
Edge = tuple[Vertex, Vertex, float]


class Edges:
    """Reads them from rows; what is no edge raises."""

    def __init__(self, source: str, target: str, weight: str | None, kind: type) -> None:
        """`kind`: of vertices, `int` or `str`."""
        self._source, self._target, self._weight = source, target, weight
        self._vertex: Callable[[Any, str], Vertex] = _number if kind is int else _text

    def ends(self, row: Row) -> tuple[Vertex, Vertex]:
        source, target = self._source, self._target
        return self._vertex(row.get(source), source), self._vertex(row.get(target), target)

    def weighted(self, row: Row) -> Edge:
        return *self.ends(row), 1.0 if self._weight is None else _weight(row.get(self._weight), self._weight)


def _number(value: Any, column: str) -> int:
    if value.__class__ is int:
        return value
    raise _no_vertex(value, column, "a whole number")


def _text(value: Any, column: str) -> str:
    if value.__class__ is int:
        return str(value)
    if value.__class__ is str and 0 < len(value) <= LONGEST:
        return value
    raise _no_vertex(value, column, f"a whole number or a text of up to {LONGEST:,} characters")


def _no_vertex(value: Any, column: str, wanted: str) -> ValueError:
    return ValueError(f"the column '{column}' names no vertex: {value!r:.80} is not {wanted}")


def _weight(value: Any, column: str) -> float:
    try:
        weight = float("nan" if value is None or isinstance(value, bool) else value)
    except (TypeError, ValueError):
        weight = float("nan")
    if not isfinite(weight):
        raise ValueError(f"the weight in the column '{column}' is {value!r:.80}, which is no number")
    return weight
