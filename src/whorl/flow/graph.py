"""The pipeline as data: nodes and the edges between them. Frozen; making one runs nothing.

Not a DAG: an edge marked `feedback` may close a cycle, any other cycle is a finding of `check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Literal

from whorl.config.spec import KafkaSource, Loop, SinkOptions, SourceOptions
from whorl.errors import Location
from whorl.operators.operator import ErrorPolicy, OperatorType
from whorl.operators.record import LOOP
from whorl.schema import UNKNOWN, Schema


class Kind(Enum):
    SOURCE = "source"
    OPERATOR = "operator"
    SINK = "sink"


@dataclass(frozen=True)
class Node:
    """A source, operator or sink. `id` is its identity for ever: topics, errors and metrics carry it."""

    id: str
    kind: Kind
    type: str
    what: SourceOptions | OperatorType | SinkOptions
    on_error: ErrorPolicy = field(default_factory=ErrorPolicy)
    isolate: bool = False
    host: Literal["", "tasks", "query"] = ""
    """The host that the pipeline asks for, if any."""
    publish: str = ""
    """The topic that shows what it keeps, if any."""
    loop: Loop = field(default_factory=Loop)
    """What it says of the feedback that it reads."""
    not_in_tasks: str = ""
    """Why it can run in a query alone, such as an expression outside the subset that tasks compile."""
    schema: Schema | None = None
    """Columns that leave it (a sink: that enter it); None where not known."""
    at: Location | None = None


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    output: str = ""
    """Which named output of the source, where it has several."""
    topic: bool = False
    """Goes through a topic even where it need not (`via: topic`)."""
    feedback: bool = False
    at: Location | None = None

    @property
    def table(self) -> str:
        """What SQL calls the rows that come along it."""
        return f"{self.source}_{self.output}" if self.output else self.source


@dataclass(frozen=True)
class StreamGraph:
    name: str
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]

    def of_kind(self, kind: Kind) -> Iterator[Node]:
        return (node for node in self.nodes.values() if node.kind is kind)

    def into(self, node: str) -> list[Edge]:
        return list(self._into.get(node, ()))

    def out_of(self, node: str) -> list[Edge]:
        return list(self._out_of.get(node, ()))

    @cached_property
    def _into(self) -> dict[str, list[Edge]]:
        return edges_by(self.edges, lambda edge: edge.target)

    @cached_property
    def _out_of(self) -> dict[str, list[Edge]]:
        return edges_by(self.edges, lambda edge: edge.source)

    def streams_into(self, node: str) -> list[Edge]:
        """The edges along which rows come; what is left are tables, whose rows stay where they are."""
        return [edge for edge in self.into(node) if not is_table(self.nodes[edge.source])]

    def in_loop(self, one: str, other: str) -> bool:
        """Whether one leads to the other and back."""
        return other in self._behind[one] and one in self._behind[other]

    @cached_property
    def _behind(self) -> dict[str, frozenset[str]]:
        """What each node leads to, over any number of edges."""
        return {id: frozenset(_reached(self._out_of, id)) for id in self.nodes}

    def entering(self, node: str) -> Schema | None:
        """The columns of the rows that enter it; None where not known."""
        return together(self.schemas_into(node))

    def schemas_into(self, node: str) -> list[Schema | None]:
        """Of each edge along which rows come; what an operator sends to itself it alone knows."""
        into = (edge for edge in self.streams_into(node) if not (edge.source == node and edge.output == LOOP))
        return [self.nodes[edge.source].schema for edge in into]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Ids so that every edge that is no feedback goes forward, in file order among equals; cycles come last."""
        waiting = {id: sum(not edge.feedback for edge in self.into(id)) for id in self.nodes}
        order: list[str] = []
        while ready := [id for id, count in waiting.items() if count == 0]:
            for id in ready:
                del waiting[id]
                order.append(id)
                for edge in self.out_of(id):
                    if not edge.feedback and edge.target in waiting:
                        waiting[edge.target] -= 1
        return (*order, *waiting)


def reachable(edges: Iterable[Edge], start: str) -> set[str]:
    """What one comes to from here, over at least one edge."""
    return _reached(edges_by(edges, lambda edge: edge.source), start)


def edges_by(edges: Iterable[Edge], end: Callable[[Edge], str]) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = {}
    for edge in edges:
        found.setdefault(end(edge), []).append(edge)
    return found


def _reached(out_of: Mapping[str, list[Edge]], start: str) -> set[str]:
    seen, ahead = set[str](), [start]
    while ahead:
        new = {edge.target for edge in out_of.get(ahead.pop(), ())} - seen
        seen |= new
        ahead += new
    return seen


def is_table(node: Node) -> bool:
    return isinstance(node.what, KafkaSource) and node.what.table


def keyed_by(node: Node) -> tuple[str, ...] | None:
    """The columns by which it keeps state, none of them where that is the record's own key; None where it keeps no state."""
    return node.what.keyed_by() if isinstance(node.what, OperatorType) else None


def together(schemas: Iterable[Schema | None]) -> Schema | None:
    """The columns of rows that come from any of several inputs; not known as soon as one of them is not."""
    columns: dict[str, str] = {}
    for schema in (listed := list(schemas)):
        if schema is None:
            return None
        for name, kind in schema:
            columns[name] = kind if columns.get(name, kind) == kind else UNKNOWN
    return Schema(tuple(columns.items())) if listed else None
