"""The graph of a plan as boxes and edges: sources, operators and sinks in square frames, topics between components in round ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from whorl.config.spec import KafkaSink, KafkaSource, SinkOptions, SourceOptions
from whorl.flow.graph import Edge, Kind, Node
from whorl.plan.layers import Box, Frame
from whorl.plan.plan import Plan
from whorl.plan.returns import Back


def picture(plan: Plan) -> tuple[list[Box], list[tuple[str, str]], list[Back]]:
    """Boxes, edges, and the feedback edges, which lead back."""
    boxes = {node.id: _node_box(node) for node in plan.graph.nodes.values()}
    edges: dict[tuple[str, str], None] = {}
    back: list[Back] = []
    for edge in plan.graph.edges:
        if edge.feedback:
            back.append(Back(edge.source, edge.target, topic_of(plan, edge) or "feedback"))
            continue
        middle = list(_between(edge, topic_of(plan, edge)))
        boxes.update({box.id: box for box in middle})
        way = [edge.source, *(box.id for box in middle), edge.target]
        edges.update(dict.fromkeys(pairwise(way)))
    return list(boxes.values()), list(edges), back


def topic_of(plan: Plan, edge: Edge) -> str | None:
    """The topic of an edge that was cut."""
    way = (edge.source, edge.output, edge.target)
    return next((cut.topic for cut in plan.cuts if (cut.source, cut.output, cut.target) == way), None)


def outside(node: Node) -> str:
    """The topics or the folder that a source or sink names."""
    if isinstance(node.what, KafkaSource):
        return node.what.pattern or ", ".join(node.what.names)
    if isinstance(node.what, SourceOptions | SinkOptions) and node.what.in_query:
        return node.what.place
    return node.what.topic if isinstance(node.what, KafkaSink) else ""


def _node_box(node: Node) -> Box:
    return Box(node.id, (node.id, f"{node.type} {outside(node)}".strip()), last=node.kind is Kind.SINK)


def _between(edge: Edge, topic: str | None) -> Iterator[Box]:
    """What lies on an edge: the name of the output it leaves, and its topic."""
    if edge.output:
        yield Box(f"{edge.source}.{edge.output}", (edge.output,), Frame.NONE)
    if topic:
        yield Box(f"{topic} topic", (topic, "topic"), Frame.ROUND)
