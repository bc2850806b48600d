"""Whether rows that reach a sink are final. A file takes a row once, as most tables do; an aggregate without windows may change for ever."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.config.spec import SinkOptions
from whorl.flow.graph import Kind, Node, StreamGraph
from whorl.operators.native import Call, Keyed, Native, Query
from whorl.operators.operator import OperatorType


def unfinal(graph: StreamGraph) -> Iterator[tuple[Node, Node, str]]:
    """(sink, operator whose rows reach it before they are final, why they are not)."""
    for sink in graph.of_kind(Kind.SINK):
        if isinstance(sink.what, SinkOptions) and not sink.what.takes_changes:
            for operator in _same_query(graph, sink):
                why = _changes(graph, operator)
                if why:
                    yield sink, operator, why


def _same_query(graph: StreamGraph, sink: Node) -> list[Node]:
    """Operators upstream whose rows come to it without a topic between."""
    found: dict[str, Node] = {}
    waiting = [sink.id]
    while waiting:
        for edge in graph.into(waiting.pop()):
            source = graph.nodes[edge.source]
            native = _native(graph, source)
            beside = (
                not edge.topic
                and native is not None
                and not isinstance(native, Call | Keyed)
                and source.host != "tasks"
            )
            if beside and source.id not in found:
                found[source.id] = source
                waiting.append(source.id)
    return list(found.values())


def _native(graph: StreamGraph, node: Node) -> Native | None:
    return node.what.native(graph.entering(node.id)) if isinstance(node.what, OperatorType) else None


def _changes(graph: StreamGraph, node: Node) -> str:
    query = _native(graph, node)
    if not isinstance(query, Query) or not query.aggregates or query.mode == "append":
        return ""
    if query.mode == "update":
        return "its mode is update"
    if not query.windowed:
        return "it aggregates without a window of time"
    return "" if query.watermark or _watermarked(graph, node) else "nothing says how late a row may be"


def _watermarked(graph: StreamGraph, node: Node) -> bool:
    seen, waiting = {node.id}, [node.id]
    while waiting:
        for edge in graph.into(waiting.pop()):
            if getattr(graph.nodes[edge.source].what, "watermark", None):
                return True
            if edge.source not in seen:
                seen.add(edge.source)
                waiting.append(edge.source)
    return False
