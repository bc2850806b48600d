"""What a component reads and writes: sources, sinks, and the topics between components.

A topic between tasks components holds rows with all their types; one that a query reads or writes holds JSON, which both hosts know.
"""

from __future__ import annotations

from whorl.config.spec import FileSink, KafkaSink, KafkaSource, SinkOptions, SourceOptions
from whorl.formats import FormatOptions, parse_format
from whorl.graph.graph import Edge, Node, StreamGraph, keyed_by
from whorl.graph.times import edge_watermark, own_watermark
from whorl.plan import naming
from whorl.plan.plan import Host, Input, Output, OutputKind
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
    watermark = edge_watermark(graph, edge) if timed else None
    return Input(topic, None, topic, format, source.schema, target.on_error, watermark=watermark)


def edge_output(graph: StreamGraph, edge: Edge, topic: str, format: FormatOptions, keyed: bool) -> Output:
    """Before an operator with state, the records are sorted by its key."""
    schema, key = graph.nodes[edge.source].schema, keyed_by(graph.nodes[edge.target])
    sorted_ = key is not None
    return Output(topic, OutputKind.EDGE, topic, format, schema, key or (), keyed=keyed or sorted_, sorted=sorted_)


def edge_format(schema: Schema | None, in_query: bool) -> FormatOptions:
    return JSON if in_query else _plain(schema) or ROWS


def sink_output(pipeline: str, node: Node, host: Host) -> Output:
    sink = node.what
    assert isinstance(sink, SinkOptions)
    if isinstance(sink, FileSink):
        return Output(node.id, OutputKind.FILE, "", JSON, node.schema, sink=sink)
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
