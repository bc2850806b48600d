"""Algorithms over graphs as operators: a record is an edge, what is kept of each vertex is the result.

The programs are loaded where they run: checking and planning a pipeline needs nothing of what they stand on.
"""

from __future__ import annotations

import builtins
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from whorl.operators.loading import load
from whorl.operators.operator import Fault, OperatorType, Options, Step, several
from whorl.operators.program import PartitionProgram
from whorl.operators.program_step import program_step
from whorl.schema import Schema
from whorl.state.binding import table_names

VERTEX = "vertex"
WHOLE = ("int", "long")
Path = tuple[str | int, ...]
Id = int | str
Ids = Annotated[tuple[Id, ...], BeforeValidator(several)]


class EdgeOptions(Options):
    source: str = Field("src", description="the column with the vertex that an edge comes from")
    target: str = Field("dst", description="the column with the vertex that it leads to")


class WeightOptions(EdgeOptions):
    weight: str | None = Field(None, description="the column with its weight; left out: each weighs 1")


class DirectedOptions(EdgeOptions):
    directed: bool = Field(True, description="whether an edge leads one way only")


Program = Callable[..., PartitionProgram]
Kind = type
"""Of vertices: `int` or `str`."""


class GraphOperator(OperatorType):
    """One whose records are edges. Vertices are whole numbers where both columns are declared so, else text."""

    Options: ClassVar[builtins.type[Options]] = EdgeOptions
    loops = anywhere = changes_key = True
    program: ClassVar[str]
    """The class under it, in `whorl.operators.graphs`."""
    result: ClassVar[str]
    """The state that holds what it finds, and the column of it."""

    @abstractmethod
    def made(self, program: Program, kind: Kind) -> PartitionProgram:
        """The program for vertices of this kind."""

    def result_type(self, vertices: str) -> str:
        return vertices

    def step(self, schema: Schema | None) -> Step:
        program, kind = load(f"whorl.operators.graphs.{self.program}"), self.kind(schema)
        return program_step(lambda: self.made(program, kind))

    def kind(self, schema: Schema | None) -> Kind:
        ends = (self.options.source, self.options.target)
        return int if schema is not None and all(schema.type_of(end) in WHOLE for end in ends) else str

    def output(self, schema: Schema | None) -> Schema | None:
        vertices = "long" if self.kind(schema) is int else "string"
        return Schema(((VERTEX, vertices), (self.result, self.result_type(vertices))))

    def keyed_by(self) -> tuple[str, ...] | None:
        return ()

    def states(self, schema: Schema | None) -> tuple[str, ...]:
        return table_names(load(f"whorl.operators.graphs.{self.program}"))

    def not_in_query(self) -> tuple[str, str] | None:
        return "its logical partitions send each other messages, which only tasks can", "take `host` away"

    def columns(self) -> Iterator[tuple[Path, str]]:
        for option in ("source", "target", "weight"):
            if (column := getattr(self.options, option, None)) is not None:
                yield (option,), column

    @property
    def edges(self) -> dict[str, Any]:
        """What programs by vertex are told of edges."""
        options = self.options
        rest = {name: getattr(options, name) for name in ("weight", "directed") if hasattr(options, name)}
        return {"source": options.source, "target": options.target, **rest}

    @property
    def entering(self) -> Schema | None:
        """As the step will know it. What it sends to itself has no columns."""
        schemas = [upstream.schema for upstream in self.upstreams]
        if None in schemas:
            schemas.remove(None)
        return schemas[0] if len(set(schemas)) == 1 else None

    def not_numbers(self, option: str, ids: tuple[Id, ...]) -> Iterator[Fault]:
        """What is wrong with vertices that an option names."""
        for id in ids if self.kind(self.entering) is int else ():
            if not isinstance(id, int):
                hint = "name one by its number, or declare the columns as string"
                yield Fault((option,), "type", f"the vertices are whole numbers, and {id!r} is none", hint)


class ConnectedComponents(GraphOperator):
    type = "connected_components"
    summary = (
        "Which vertices hang together: keeps for each the smallest vertex that it hangs together with, whatever way edges lead. Edges are "
        "added for ever; components grow together as they come."
    )
    program, result = "components.ConnectedComponents", "component"

    def made(self, program: Program, kind: Kind) -> PartitionProgram:
        return program(self.options.source, self.options.target, kind)


class ShortestPathsOptions(WeightOptions, DirectedOptions):
    root: Id = Field(description="the vertex that distances are from")


class ShortestPaths(GraphOperator):
    type = "shortest_paths"
    summary = (
        "The distance of each vertex from one of them, as far as it can be reached; it becomes shorter as edges come."
    )
    Options = ShortestPathsOptions
    program, result = "algorithms.ShortestPaths", "distance"

    def result_type(self, vertices: str) -> str:
        return "double"

    def made(self, program: Program, kind: Kind) -> PartitionProgram:
        return program(kind(self.options.root), vertices=kind, **self.edges)

    def faults(self) -> Iterator[Fault]:
        yield from self.not_numbers("root", (self.options.root,))


class ReachabilityOptions(DirectedOptions):
    roots: Ids = Field(min_length=1, description="the vertices to start from: one, or several")


class Reachability(GraphOperator):
    type = "reachability"
    summary = "From which of some vertices each can be reached; ever more of them as edges come."
    Options = ReachabilityOptions
    program, result = "algorithms.Reachability", "roots"

    def result_type(self, vertices: str) -> str:
        return f"array<{vertices}>"

    def made(self, program: Program, kind: Kind) -> PartitionProgram:
        return program([kind(root) for root in self.options.roots], vertices=kind, **self.edges)

    def faults(self) -> Iterator[Fault]:
        yield from self.not_numbers("roots", self.options.roots)


class PageRankOptions(WeightOptions, DirectedOptions):
    damping: float = Field(0.85, gt=0, lt=1, description="the share of its rank that a vertex passes on")
    tolerance: float = Field(
        1e-6, gt=0, description="a vertex waits until so much has come together before it passes it on"
    )


class PageRank(GraphOperator):
    type = "pagerank"
    summary = (
        "The rank of each vertex by the ranks of those that lead to it. Divided by the sum of all, ranks are shares; they are followed as "
        "edges come, without computing anything anew."
    )
    Options = PageRankOptions
    program, result = "algorithms.PageRank", "rank"

    def result_type(self, vertices: str) -> str:
        return "double"

    def made(self, program: Program, kind: Kind) -> PartitionProgram:
        options = self.options
        return program(options.damping, options.tolerance, vertices=kind, **self.edges)


class LabelPropagationOptions(WeightOptions):
    changes: int = Field(20, ge=1, description="how often a vertex changes its label at most, so that there is an end")


class LabelPropagation(GraphOperator):
    type = "label_propagation"
    summary = "Communities: each vertex takes the label that most of its neighbours have, by weight."
    Options = LabelPropagationOptions
    program, result = "algorithms.LabelPropagation", "label"

    def made(self, program: Program, kind: Kind) -> PartitionProgram:
        return program(self.options.changes, vertices=kind, **self.edges)
