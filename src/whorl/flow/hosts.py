"""What can be wrong with the host that a node needs: columns that a query must know, words that do not fit, rows that are not final.

A node is not blamed for what was found before it: a query that reads what a wrong operator gives is not at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from whorl.config.loader import Loaded
from whorl.config.spec import ListSource, Named, SinkOptions, SourceOptions
from whorl.errors import Finding
from whorl.flow.graph import Edge, Kind, Node, StreamGraph, is_table, keyed_by
from whorl.flow.mode import unfinal
from whorl.operators.operator import OperatorType
from whorl.schema import UNKNOWN, Schema


class Hosts:
    """Where the nodes of a graph can run."""

    def __init__(self, graph: StreamGraph) -> None:
        self.graph = graph

    def in_query(self, node: Node) -> bool:
        """Whether nothing but a query can run it."""
        if isinstance(node.what, OperatorType):
            return not node.what.in_tasks or bool(node.not_in_tasks) or node.host == "query"
        return isinstance(node.what, SinkOptions | SourceOptions) and node.what.in_query

    def fits_query(self, node: Node) -> bool:
        return (
            isinstance(node.what, OperatorType)
            and node.host != "tasks"
            and node.what.native(self.graph.entering(node.id)) is not None
        )

    @cached_property
    def unknown(self) -> dict[str, Node]:
        """Nodes whose columns or types a query could not know, each with the node where that begins."""
        found: dict[str, Node] = {}
        for id in self.graph.order:
            node = self.graph.nodes[id]
            origin = self._origin(node, found)
            if origin is not None:
                found[id] = origin
        return found

    def _reads_itself(self, node: Node) -> bool:
        """A source whose columns a query finds by itself."""
        return isinstance(node.what, SourceOptions) and node.what.in_query

    def _origin(self, node: Node, found: dict[str, Node]) -> Node | None:
        if self._reads_itself(node) or (node.schema is not None and not untyped(node.schema)):
            return None
        above = [found[edge.source] for edge in self.graph.into(node.id) if edge.source in found]
        if node.kind is Kind.OPERATOR and (self.in_query(node) or self.fits_query(node)):
            return above[0] if above else None
        return node if node.kind is Kind.SOURCE or node.type == "python" or not above else above[0]


def untyped(schema: Schema) -> list[str]:
    """Columns whose type is not known."""
    return [name for name, kind in schema if UNKNOWN in kind]


def host_findings(loaded: Loaded, graph: StreamGraph, blamed: frozenset[str]) -> Iterator[Finding]:
    """`blamed`: nodes that something is wrong with already."""
    hosts = Hosts(graph)
    specs: dict[str, Named] = {named.id: named for named in (*loaded.spec.takers, *loaded.spec.sources)}
    for node in graph.nodes.values():
        unfit = _unfit(hosts, node) if node.id not in blamed else None
        if unfit:
            message, hint = unfit
            yield Finding("host", f"operator '{node.id}' {message}", hint, loaded.place(specs[node.id], "host"))
        if node.publish and (hosts.in_query(node) or keyed_by(node) is None) and node.id not in blamed:
            message = f"operator '{node.id}' has nothing to publish: it keeps no state in tasks"
            yield Finding("value", message, "take `publish` away", loaded.place(specs[node.id], "publish"))
        for edge in graph.into(node.id):
            yield from _unread(hosts, node, edge, blamed)
    yield from (_not_final(*unfinished) for unfinished in unfinal(graph))


def _unfit(hosts: Hosts, node: Node) -> tuple[str, str] | None:
    operator = node.what
    if not isinstance(operator, OperatorType):
        return None
    if node.host == "tasks" and not operator.in_tasks:
        why = operator.of_queries or f"'{node.type}' is of queries"
        return f"cannot run in tasks: {why}", "take `host` away"
    if node.host != "query" or operator.native(hosts.graph.entering(node.id)) is not None:
        return None
    if reason := operator.not_in_query():
        return f"cannot run in a query: {reason[0]}", reason[1]
    if node.type == "python" and node.schema is None:
        return "cannot run in a query: its columns are not known", "declare them: `returns: {column: type}`"
    if hosts.graph.entering(node.id) is None:
        return None
    return "cannot run in a query: Spark would give other results", "take `host` away"


def _unread(hosts: Hosts, node: Node, edge: Edge, blamed: frozenset[str]) -> Iterator[Finding]:
    source = hosts.graph.nodes[edge.source]
    what, at = f"{node.kind.value} '{node.id}'", edge.at or node.at
    static = isinstance(source.what, SourceOptions) and source.what.is_static
    if static and not hosts.in_query(node) and not hosts.fits_query(node):
        message = f"{what} reads '{source.id}', which is static and no stream"
        yield Finding("inputs", message, "join it with a stream, or take `static` away", at)
    if is_table(source) and keyed_by(node) is None:
        message = f"{what} reads the table '{source.id}', but keeps no state by its key"
        yield Finding("inputs", message, "join it with a stream, or read it in a KeyedOperator that runs in tasks", at)
    origin = hosts.unknown.get(edge.source)
    if not hosts.in_query(node) or origin is None or {origin.id, source.id} & blamed:
        return
    if isinstance(origin.what, SourceOptions) and origin.what.infers:
        return  # they will be known when it first starts
    whose = "types" if origin.schema is not None else "columns"
    message = f"{what} runs in a query and reads '{source.id}', whose {whose} are not known"
    yield Finding("schema", message, _declare(origin), at)


def _declare(origin: Node) -> str:
    if isinstance(origin.what, ListSource) or (origin.schema is not None and origin.type != "python"):
        column = untyped(origin.schema)[0] if origin.schema else "its column"
        return f"give '{column}' of '{origin.id}' a type: {{type: cast, columns: {{{column}: string}}}}"
    if isinstance(origin.what, SourceOptions):
        return f"declare them on the source '{origin.id}': `schema: {{column: type}}`"
    if origin.type == "python":
        return f"declare them on the operator '{origin.id}': `returns: {{column: type}}`"
    return f"give every column that '{origin.id}' reads a name: SELECT ... AS name"


def _not_final(sink: Node, operator: Node, why: str) -> Finding:
    message = f"sink '{sink.id}' writes rows for good, but those of '{operator.id}' still change: {why}"
    return Finding("mode", message, "give it a window and its source a `watermark`, or write to a topic", sink.at)
