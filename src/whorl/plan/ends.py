"""What a component reads and writes: sources, sinks, and the topics between components.

A topic between tasks components holds rows with all their types; one that a query reads or writes holds JSON, which both hosts know.
"""

from __future__ import annotations

from whorl.config.spec import FileSink, KafkaSink, KafkaSource, SinkOptions, SourceOptions
from whorl.flow.graph import Edge, Node, StreamGraph, keyed_by
from whorl.flow.times import edge_watermark, own_watermark
from whorl.formats import FormatOptions, parse_format
from whorl.operators.operator import OperatorType
from whorl.operators.record import LOOP
from whorl.plan import naming
from whorl.plan.plan import Host, Input, Output, OutputKind, Rounds
from whorl.schema import BYTES, TEXT, Schema

ROWS = parse_format("rows")
JSON = parse_format("json")


def source_input(node: Node, timed: bool) -> Input:
    """`timed`: whether somebody in the component goes by event time."""
    source = node.what
    assert isinstance(source, SourceOptions)
    format = source.format if isinstance(source, KafkaSource) else ROWS
    watermark = own_watermark(node) if timed else None
    return Input(node.id, source, "", format, node.schema, node.on_error, watermark=watermark)


def edge_input(graph: StreamGraph, edge: Edge, topic: str, format: FormatOptions, timed: bool) -> Input:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    watermark = edge_watermark(graph, edge) if timed and not edge.feedback else None
    loop = {"feedback": edge.feedback, "goes_round": graph.in_loop(edge.source, edge.target)}
    return Input(topic, None, topic, format, _schema(source, edge), target.on_error, watermark=watermark, **loop)


def edge_output(graph: StreamGraph, edge: Edge, topic: str, format: FormatOptions, keyed: bool) -> Output:
    """Before an operator with state, the records are sorted by its key; what comes back is sorted for any."""
    schema, target = _schema(graph.nodes[edge.source], edge), graph.nodes[edge.target]
    key = keyed_by(target) if edge.feedback or is_sorted_before(target) else None
    sorted_ = edge.feedback or key is not None
    rounds: Rounds = "next" if edge.feedback else "same" if graph.in_loop(edge.source, edge.target) else "none"
    combine = target.loop.combine if edge.feedback else ()
    rest = {"keyed": keyed or sorted_, "sorted": sorted_, "rounds": rounds, "combine": combine}
    return Output(topic, OutputKind.EDGE, topic, format, schema, key or (), **rest)  # type: ignore[arg-type]


def is_sorted_before(node: Node) -> bool:
    """Whether records must come to it sorted by the key of its state."""
    return keyed_by(node) is not None and not (isinstance(node.what, OperatorType) and node.what.anywhere)


def edge_format(source: Node, edge: Edge, in_query: bool) -> FormatOptions:
    return JSON if in_query else _plain(_schema(source, edge)) or ROWS


def _schema(source: Node, edge: Edge) -> Schema | None:
    return None if edge.source == edge.target and edge.output == LOOP else source.schema


def sink_output(pipeline: str, node: Node, host: Host) -> Output:
    sink = node.what
    assert isinstance(sink, SinkOptions)
    if sink.in_query:
        kind = OutputKind.FILE if isinstance(sink, FileSink) else OutputKind.STORE
        return Output(node.id, kind, "", JSON, node.schema, sink=sink)
    if isinstance(sink, KafkaSink):
        format = sink.format or _plain(node.schema) or JSON
        return Output(node.id, OutputKind.SINK, sink.topic, format, node.schema, sink.key, headers=sink.headers)
    format = JSON if host is Host.QUERY else ROWS
    return Output(node.id, OutputKind.VIEW, naming.view_topic(pipeline, node.id), format, node.schema, keyed=False)


def _plain(schema: Schema | None) -> FormatOptions | None:
    """The format of rows that are only text or bytes."""
    if schema == TEXT:
        return parse_format("text")
    return parse_format("bytes") if schema == BYTES else None
