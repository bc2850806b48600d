"""From graph to plan: what is fused, what becomes a topic, and why.

Two operators are fused unless the edge between them asks for a topic, one of them asks to be alone, or fusing would make a component
wait for its own output. A component is named after its first operator (without one: its first sink), so its identity does not depend
on how the rest is cut.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    groups, reasons = _fuse(graph, settings)
    prefix = _prefix(graph.name, settings)
    components = [_component(graph, members, reasons, settings, prefix) for members in groups]
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


def _fuse(graph: StreamGraph, settings: Settings) -> tuple[list[list[str]], dict[Edge, str]]:
    """Groups of node ids, each one component, and the reason for every edge that is cut."""
    home = {id: id for id in graph.nodes}
    reasons = {edge: reason for edge in graph.edges if (reason := _asked(graph, edge, settings))}
    for id in graph.order:
        for edge in graph.into(id):
            if edge in reasons:
                continue
            if _waits_for_itself(graph, home, reasons, edge):
                reasons[edge] = "fused, the component would wait for its own output"
            else:
                old, new = home[edge.target], home[edge.source]
                home = {node: new if group == old else group for node, group in home.items()}
    groups: dict[str, list[str]] = {}
    for id in graph.order:
        groups.setdefault(home[id], []).append(id)
    return [
        members for members in groups.values() if any(graph.nodes[m].kind is not Kind.SOURCE for m in members)
    ], reasons


def _asked(graph: StreamGraph, edge: Edge, settings: Settings) -> str:
    ends = graph.nodes[edge.source], graph.nodes[edge.target]
    if any(node.kind is not Kind.OPERATOR for node in ends):
        return ""
    if edge.topic:
        return "via: topic"
    alone = next((node.id for node in ends if node.isolate), None)
    if alone:
        return f"'{alone}' has isolate: true"
    return "edges: topics" if settings.edges == "topics" else ""


def _waits_for_itself(graph: StreamGraph, home: dict[str, str], cut: dict[Edge, str], edge: Edge) -> bool:
    """Whether another way from source to target leaves their groups and so goes through a topic."""
    start, end = home[edge.source], home[edge.target]
    if start == end:
        return False
    seen: set[str] = set()
    ahead = [home[e.target] for e in graph.edges if e in cut and home[e.source] == start]
    while ahead:
        group = ahead.pop()
        if group == end:
            return True
        if group not in seen:
            seen.add(group)
            ahead += [home[e.target] for e in graph.edges if home[e.source] == group and home[e.target] != group]
    return False


# -- one component --------------------------------------------------------------------------------------------------------------------


def _component(
    graph: StreamGraph, members: list[str], cut: Iterable[Edge], settings: Settings, prefix: str
) -> Component:
    nodes = [graph.nodes[id] for id in members]
    operators = tuple(node for node in nodes if node.kind is Kind.OPERATOR)
    edges_cut = set(cut)
    inside = [e for e in graph.edges if e not in edges_cut and e.target in members]
    arriving = [e for e in edges_cut if e.target in members]
    leaving = [e for e in edges_cut if e.source in members]
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
