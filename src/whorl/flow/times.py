"""Event time as it passes through a graph: which watermark holds for the rows of an edge."""

from __future__ import annotations

from whorl.config.spec import Watermark
from whorl.flow.graph import Edge, Node, StreamGraph
from whorl.schema import UNKNOWN, Schema


def own_watermark(node: Node) -> Watermark | None:
    found = getattr(node.what, "watermark", None)
    return found if isinstance(found, Watermark) else None


def edge_watermark(graph: StreamGraph, edge: Edge) -> Watermark | None:
    """That of the sources before an edge, if its rows still have the column; of several the one that waits longest."""
    schema = graph.nodes[edge.source].schema
    left = [mark for mark in watermarks_before(graph, edge.source) if _is_time(schema, mark.column)]
    return max((mark for mark in left if mark.column == left[0].column), key=lambda mark: mark.delay, default=None)


def _is_time(schema: Schema | None, column: str) -> bool:
    return schema is not None and column in schema and schema.type_of(column) in ("timestamp", UNKNOWN)


def watermarks_before(graph: StreamGraph, id: str) -> list[Watermark]:
    """Those of a node and of all before it."""
    if not any(map(own_watermark, graph.nodes.values())):
        return []
    before, ahead = {id}, [id]
    while ahead:
        sources = {edge.source for edge in graph.into(ahead.pop())} - before
        before |= sources
        ahead += sources
    return [mark for id in graph.order if id in before and (mark := own_watermark(graph.nodes[id]))]
