"""The pipeline as data: nodes and the edges between them. Frozen; making one runs nothing.

Not a DAG: an edge marked `feedback` may close a cycle, any other cycle is a finding of `check`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from whorl.config.spec import SinkOptions, SourceOptions
from whorl.errors import Location
from whorl.operators.operator import ErrorPolicy, OperatorType
from whorl.schema import Schema


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


@dataclass(frozen=True)
class StreamGraph:
    name: str
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]

    def of_kind(self, kind: Kind) -> Iterator[Node]:
        return (node for node in self.nodes.values() if node.kind is kind)

    def into(self, node: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.target == node]

    def out_of(self, node: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.source == node]

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
