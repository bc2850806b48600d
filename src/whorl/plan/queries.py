"""What is special about query components: event time, whether rows leave once or change, and how they leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from whorl.config.settings import Settings
from whorl.config.spec import Watermark
from whorl.graph.graph import Edge, Node, StreamGraph
from whorl.operators.native import Query
from whorl.operators.operator import OperatorType
from whorl.plan.hosts import Hosted
from whorl.plan.plan import Delivery, Host, Mode, Output, OutputKind
from whorl.schema import UNKNOWN, Schema

# -- event time -----------------------------------------------------------------------------------------------------------------------


def own_watermark(node: Node) -> Watermark | None:
    found = getattr(node.what, "watermark", None)
    return found if isinstance(found, Watermark) else None


def edge_watermark(graph: StreamGraph, edge: Edge) -> Watermark | None:
    """That of the sources before an edge, if its rows still have the column; of several the one that waits longest."""
    schema = graph.nodes[edge.source].schema
    left = [mark for mark in _watermarks(graph, edge.source) if _is_time(schema, mark.column)]
    return max((mark for mark in left if mark.column == left[0].column), key=lambda mark: mark.delay, default=None)


def _is_time(schema: Schema | None, column: str) -> bool:
    return schema is not None and column in schema and schema.type_of(column) in ("timestamp", UNKNOWN)


def _watermarks(graph: StreamGraph, id: str) -> list[Watermark]:
    """Those of a node and of all before it."""
    before, ahead = {id}, [id]
    while ahead:
        sources = {edge.source for edge in graph.into(ahead.pop())} - before
        before |= sources
        ahead += sources
    return [mark for id in graph.order if id in before and (mark := own_watermark(graph.nodes[id]))]


# -- rows that change -----------------------------------------------------------------------------------------------------------------


def modes_of(graph: StreamGraph, hosted: Mapping[str, Hosted]) -> dict[str, Mode]:
    """Of the operators in queries whose rows may change."""
    inside = [graph.nodes[id] for id in hosted if hosted[id].host is Host.QUERY]
    return {node.id: mode for node in inside if (mode := _mode(graph, node))}


def _mode(graph: StreamGraph, node: Node) -> Mode | None:
    assert isinstance(node.what, OperatorType)
    schema = graph.entering(node.id)
    native = node.what.native(schema)
    if not isinstance(native, Query):
        return None
    if native.mode or not native.aggregates:
        return native.mode or None
    in_time = native.watermark or any(schema is None or mark.column in schema for mark in _watermarks(graph, node.id))
    return "append" if native.windowed and in_time else "update"


def mode_of(delivery: Delivery, modes: Iterable[Mode]) -> Mode:
    """Spark's real-time mode knows no other than update; rows that are made one by one never change."""
    return "update" if delivery is Delivery.REALTIME or "update" in modes else "append"


# -- how rows leave -------------------------------------------------------------------------------------------------------------------


def delivery_of(outputs: Sequence[Output], settings: Settings) -> Delivery:
    if [output.kind for output in outputs] == [OutputKind.FILE]:
        return Delivery.FILES
    if settings.trigger == "realtime":
        return Delivery.REALTIME
    return Delivery.NATIVE if settings.guarantee == "at_least_once" else Delivery.LEDGER
