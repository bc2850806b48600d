"""What is special about query components: whether rows leave once or change, and how they leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from whorl.config.settings import Settings
from whorl.flow.graph import Node, StreamGraph
from whorl.flow.times import watermarks_before
from whorl.operators.native import Query
from whorl.operators.operator import OperatorType
from whorl.plan.hosts import Hosted
from whorl.plan.plan import Delivery, Host, Mode, Output, OutputKind

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
    in_time = native.watermark or any(
        schema is None or mark.column in schema for mark in watermarks_before(graph, node.id)
    )
    return "append" if native.windowed and in_time else "update"


def mode_of(delivery: Delivery, modes: Iterable[Mode]) -> Mode:
    """Spark's real-time mode knows no other than update; rows that are made one by one never change."""
    return "update" if delivery is Delivery.REALTIME or "update" in modes else "append"


# -- how rows leave -------------------------------------------------------------------------------------------------------------------


def delivery_of(outputs: Sequence[Output], settings: Settings) -> Delivery:
    if [output.kind for output in outputs] == [OutputKind.FILE]:
        return Delivery.FILES
    if [output.kind for output in outputs] == [OutputKind.STORE]:
        return Delivery.STORE
    if settings.trigger == "realtime":
        return Delivery.REALTIME
    return Delivery.NATIVE if settings.guarantee == "at_least_once" else Delivery.LEDGER
