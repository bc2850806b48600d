"""From graph to plan: what is fused, what becomes a topic, and why.

Two operators are fused unless the edge between them asks for a topic, one of them asks to be alone, or fusing would make a component
wait for its own output. A component is named after its first operator (without one: its first sink), so its identity does not depend
on how the rest is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whorl.config.settings import Settings
from whorl.config.spec import KafkaSink, KafkaSource, SinkOptions, SourceOptions
from whorl.formats import FormatOptions, parse_format
from whorl.graph.graph import Edge, Kind, Node, StreamGraph
from whorl.operators.operator import OperatorType
from whorl.plan import naming
from whorl.plan.plan import Component, Cut, Host, Input, Output, OutputKind, Placed, Plan, Wire
from whorl.schema import BYTES, TEXT, Schema

ROWS = parse_format("rows")


def make_plan(graph: StreamGraph, settings: Settings) -> Plan:
    home, reasons = _fuse(graph, settings)
    prefix = _prefix(graph.name, settings)
    components = [_component(graph, share, reasons, settings, prefix) for share in _shares(graph, home, reasons)]
    cuts = [Cut(e.source, e.target, _topic(e, prefix), reason, e.output) for e, reason in reasons.items()]
    dead = settings.dead_letter_topic or naming.dead_letter_topic(graph.name)
    return Plan(graph.name, graph, tuple(components), tuple(cuts), dead, settings)


def _prefix(name: str, settings: Settings) -> str:
    if isinstance(settings.topic_prefix, str):
        return settings.topic_prefix
    return name if settings.topic_prefix else ""


def _topic(edge: Edge, prefix: str) -> str:
    return naming.edge_topic(prefix, edge.source, edge.output, edge.target)


# -- what is fused --------------------------------------------------------------------------------------------------------------------


def _fuse(graph: StreamGraph, settings: Settings) -> tuple[dict[str, str], dict[Edge, str]]:
    """Which nodes are together, by a name for each group, and the reason for every edge that is cut."""
    home = {id: id for id in graph.nodes}
    reasons = {edge: reason for edge in graph.edges if (reason := _asked(graph, edge, settings))}
    for id in graph.order:
        for edge in graph.into(id):
            if edge in reasons or _shared(graph, edge, settings):
                continue
            if not _waits_for_itself(graph, home, reasons, edge):
                old, new = home[edge.target], home[edge.source]
                home = {node: new if group == old else group for node, group in home.items()}
            elif _is_inner(graph, edge):
                reasons[edge] = "fused, the component would wait for its own output"
    return home, reasons


@dataclass(frozen=True)
class Share:
    """What one component has of the graph. Sources and sinks may be in several, an edge in memory is in one."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def _shares(graph: StreamGraph, home: dict[str, str], cut: Mapping[Edge, str]) -> list[Share]:
    edges: dict[str, list[Edge]] = {home[id]: [] for id in graph.order if graph.nodes[id].kind is Kind.OPERATOR}
    for edge in graph.edges:
        if edge not in cut:
            inner = edge.target if graph.nodes[edge.target].kind is Kind.OPERATOR else edge.source
            edges.setdefault(home[inner], []).append(edge)
    return [Share(_nodes(graph, home, group, own), tuple(own)) for group, own in edges.items()]


def _nodes(graph: StreamGraph, home: dict[str, str], group: str, edges: list[Edge]) -> tuple[Node, ...]:
    ends = {id for edge in edges for id in (edge.source, edge.target)}
    nodes = (graph.nodes[id] for id in graph.order if id in ends or home[id] == group)
    return tuple(node for node in nodes if node.id in ends or node.kind is Kind.OPERATOR)


def _is_inner(graph: StreamGraph, edge: Edge) -> bool:
    """Whether it leads from operator to operator; at the others a component reads or writes what is outside."""
    return all(graph.nodes[id].kind is Kind.OPERATOR for id in (edge.source, edge.target))


def _shared(graph: StreamGraph, edge: Edge, settings: Settings) -> bool:
    """Whether an operator that is to be alone has this source or sink in common with others."""
    operators = [graph.nodes[id] for id in (edge.source, edge.target) if graph.nodes[id].kind is Kind.OPERATOR]
    alone = settings.edges == "topics" or any(node.isolate for node in operators)
    return bool(operators) and alone and not _is_inner(graph, edge)


def _asked(graph: StreamGraph, edge: Edge, settings: Settings) -> str:
    ends = graph.nodes[edge.source], graph.nodes[edge.target]
    if not _is_inner(graph, edge):
        return ""
    if edge.topic:
        return "via: topic"
    alone = next((node.id for node in ends if node.isolate), None)
    if alone:
        return f"'{alone}' has isolate: true"
    return "edges: topics" if settings.edges == "topics" else ""


def _waits_for_itself(graph: StreamGraph, home: dict[str, str], cut: Mapping[Edge, str], edge: Edge) -> bool:
    """Whether, with both ends together, something would leave the component through a topic and come back to it."""
    one, other = home[edge.source], home[edge.target]
    return one != other and (_leads(graph, home, cut, one, other) or _leads(graph, home, cut, other, one))


def _leads(graph: StreamGraph, home: dict[str, str], cut: Mapping[Edge, str], start: str, end: str) -> bool:
    """Whether a way that begins with a topic leads from one group to the other."""
    inner = [edge for edge in graph.edges if _is_inner(graph, edge)]
    ahead = [home[edge.target] for edge in inner if edge in cut and home[edge.source] == start]
    seen: set[str] = set()
    while ahead:
        group = ahead.pop()
        if group == end:
            return True
        if group not in seen:
            seen.add(group)
            ahead += [home[edge.target] for edge in inner if home[edge.source] == group != home[edge.target]]
    return False


# -- one component --------------------------------------------------------------------------------------------------------------------


def _component(graph: StreamGraph, share: Share, cut: Iterable[Edge], settings: Settings, prefix: str) -> Component:
    nodes, inside = share.nodes, share.edges
    operators = tuple(node for node in nodes if node.kind is Kind.OPERATOR)
    members = {node.id for node in operators}
    arriving = [e for e in cut if e.target in members]
    leaving = [e for e in cut if e.source in members]
    inputs = [_source_input(node) for node in nodes if node.kind is Kind.SOURCE]
    inputs += [_edge_input(graph, e, _topic(e, prefix)) for e in _in_order(graph, arriving)]
    outputs = [_sink_output(graph, node) for node in nodes if node.kind is Kind.SINK]
    outputs += [_edge_output(graph, e, _topic(e, prefix), operators) for e in _in_order(graph, leaving)]
    wires = [Wire(e.source, e.target, e.output) for e in inside]
    wires += [Wire(_topic(e, prefix), e.target) for e in _in_order(graph, arriving)]
    wires += [Wire(e.source, _topic(e, prefix), e.output) for e in _in_order(graph, leaving)]
    if _nothing_looks_inside(operators, inputs, outputs):
        inputs = [_raw(input) for input in inputs]
    id = operators[0].id if operators else next(node.id for node in nodes if node.kind is Kind.SINK)
    group = naming.group(settings.group_id or graph.name, id)
    placed = tuple(Placed(node, _enters(graph, node)) for node in operators)
    return Component(id, Host.TASKS, tuple(inputs), placed, tuple(wires), tuple(outputs), group)


def _enters(graph: StreamGraph, node: Node) -> Schema | None:
    schemas = {graph.nodes[edge.source].schema for edge in graph.into(node.id)}
    return schemas.pop() if len(schemas) == 1 else None


def _in_order(graph: StreamGraph, edges: Iterable[Edge]) -> list[Edge]:
    return sorted(edges, key=graph.edges.index)


def _source_input(node: Node) -> Input:
    source = node.what
    assert isinstance(source, SourceOptions)
    format = source.format if isinstance(source, KafkaSource) else ROWS
    return Input(node.id, source, "", format, node.schema, node.on_error)


def _edge_input(graph: StreamGraph, edge: Edge, topic: str) -> Input:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    return Input(topic, None, topic, _edge_format(source.schema), source.schema, target.on_error)


def _edge_output(graph: StreamGraph, edge: Edge, topic: str, operators: tuple[Node, ...]) -> Output:
    schema = graph.nodes[edge.source].schema
    return Output(topic, OutputKind.EDGE, topic, _edge_format(schema), schema, keyed=_changes_key(operators))


def _edge_format(schema: Schema | None) -> FormatOptions:
    """A topic between components holds what the rows are: plain text or bytes, else rows with all their types."""
    if schema == TEXT:
        return parse_format("text")
    return parse_format("bytes") if schema == BYTES else ROWS


def _sink_output(graph: StreamGraph, node: Node) -> Output:
    sink = node.what
    if isinstance(sink, KafkaSink):
        return Output(
            node.id,
            OutputKind.SINK,
            sink.topic,
            _sink_format(sink, node.schema),
            node.schema,
            sink.key,
            headers=sink.headers,
        )
    assert isinstance(sink, SinkOptions)
    return Output(node.id, OutputKind.VIEW, naming.view_topic(graph.name, node.id), ROWS, node.schema, keyed=False)


def _sink_format(sink: KafkaSink, schema: Schema | None) -> FormatOptions:
    if sink.format is not None:
        return sink.format
    plain = _edge_format(schema)
    return parse_format("json") if plain is ROWS else plain


def _changes_key(operators: tuple[Node, ...]) -> bool:
    """Whether a record may leave with another key than it came with, so that its partition must follow the key."""
    return any(isinstance(node.what, OperatorType) and node.what.changes_key for node in operators)


def _nothing_looks_inside(operators: tuple[Node, ...], inputs: list[Input], outputs: list[Output]) -> bool:
    if any(isinstance(node.what, OperatorType) and node.what.looks_inside for node in operators):
        return False
    formats = [*(input.format for input in inputs), *(output.format for output in outputs)]
    declared = any(input.schema not in (None, TEXT, BYTES) for input in inputs)
    generated = any(input.source is not None and not isinstance(input.source, KafkaSource) for input in inputs)
    same = all(format == formats[0] for format in formats)
    return same and not declared and not generated and not any(output.key for output in outputs)


def _raw(input: Input) -> Input:
    return Input(input.id, input.source, input.topic, input.format, input.schema, input.on_error, raw=True)
