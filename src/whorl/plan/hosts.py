"""Which host runs each operator, and why.

What can run on one host alone is there. The rest goes with its neighbours, so that few edges become topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whorl.config.spec import RateSource, SinkOptions, SourceOptions
from whorl.flow.graph import Edge, Kind, Node, StreamGraph
from whorl.operators.native import Call, Keyed
from whorl.operators.operator import OperatorType
from whorl.plan.plan import Host

IN_A = {Host.TASKS: "in tasks", Host.QUERY: "in a query"}


@dataclass(frozen=True)
class Hosted:
    host: Host
    why: str
    """A sentence without its full stop."""
    fixed: bool = True
    """It can run nowhere else."""


def hosts_of(graph: StreamGraph) -> dict[str, Hosted]:
    """Of every operator."""
    operators = [id for id in graph.order if graph.nodes[id].kind is Kind.OPERATOR]
    fixed = {id: found for id in operators if (found := _fixed(graph, graph.nodes[id]))}
    hosted: dict[str, Hosted] = {}
    for id in operators:
        hosted[id] = fixed.get(id) or _beside(graph, id, fixed, hosted)
    return hosted


# -- what has no choice ---------------------------------------------------------------------------------------------------------------


def _fixed(graph: StreamGraph, node: Node) -> Hosted | None:
    operator = node.what
    assert isinstance(operator, OperatorType)
    if not operator.in_tasks:
        why = f": {operator.of_queries}" if operator.of_queries else ""
        return Hosted(Host.QUERY, f"'{node.id}' is {node.type}, which runs in a query{why}")
    if node.not_in_tasks:
        return Hosted(Host.QUERY, f"'{node.id}' runs in a query: {node.not_in_tasks}")
    if node.host:
        return Hosted(Host(node.host), f"'{node.id}' has host: {node.host}")
    if graph.in_loop(node.id, node.id):
        return Hosted(Host.TASKS, f"'{node.id}' is in a loop, which runs in tasks")
    schema = graph.entering(node.id)
    native = operator.native(schema)
    if native is None or isinstance(native, Call | Keyed):
        which = "which" if schema or list(operator.import_paths()) else "whose columns are not known, so it"
        return Hosted(Host.TASKS, f"'{node.id}' is {node.type}, {which} runs in tasks")
    return None


def reader_of(source: SourceOptions, wanted: Host) -> Host:
    """The host that reads a source for an operator or sink on another: its own, where it can."""
    if source.in_query:
        return Host.QUERY
    counted = source.type == "list" or (isinstance(source, RateSource) and source.limit is not None)
    return Host.TASKS if counted else wanted


def is_of_queries(node: Node) -> bool:
    """A source or sink that nothing but a query reads or writes: files, tables, databases."""
    return isinstance(node.what, SourceOptions | SinkOptions) and node.what.in_query


def why_there(node: Node, host: Host) -> str:
    """Why a source or sink is on this host, of those that are not on both."""
    limited = " with a limit" if isinstance(node.what, RateSource) else ""
    return f"'{node.id}' is a {node.type} {node.kind.value}{limited}, which runs {IN_A[host]}"


# -- what goes with others ------------------------------------------------------------------------------------------------------------


def _beside(graph: StreamGraph, id: str, fixed: Mapping[str, Hosted], hosted: Mapping[str, Hosted]) -> Hosted:
    """With the operators before it; next to sources with a source that needs a query; else with what follows; else in tasks."""
    before = [edge.source for edge in graph.into(id)]
    operators = {other: hosted[other].host for other in before if other in hosted}
    files = {other: Host.QUERY for other in before if is_of_queries(graph.nodes[other])}
    if found := _with(id, operators or files):
        return found
    behind = dict(_behind(graph, id, fixed))
    why = "what follows it is on both hosts" if behind else "nothing beside it needs a query"
    return _with(id, behind) or Hosted(Host.TASKS, f"'{id}' runs in tasks: {why}", fixed=False)


def _with(id: str, neighbours: Mapping[str, Host]) -> Hosted | None:
    """Where these are, if all are on one host."""
    if len(set(neighbours.values())) != 1:
        return None
    other, host = next(iter(neighbours.items()))
    return Hosted(host, f"'{id}' runs {IN_A[host]} with '{other}'", fixed=False)


def _behind(graph: StreamGraph, id: str, fixed: Mapping[str, Hosted]) -> Iterator[tuple[str, Host]]:
    """What follows and has no choice, through operators that have one."""
    seen: set[str] = set()
    ahead: list[Edge] = graph.out_of(id)
    while ahead:
        target = ahead.pop(0).target
        if target in seen:
            continue
        seen.add(target)
        if target in fixed:
            yield target, fixed[target].host
        elif is_of_queries(graph.nodes[target]):
            yield target, Host.QUERY
        else:
            ahead += graph.out_of(target)
