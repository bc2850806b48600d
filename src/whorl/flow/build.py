"""From a loaded file to the graph: options typed, edges joined, columns followed from sources to sinks.

What is wrong is found and left out, so that one mistake does not hide another; a graph without findings is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from whorl.config.codes import suggest
from whorl.config.full import OPERATOR_KEYS
from whorl.config.loader import Loaded
from whorl.config.spec import KafkaSource, OperatorSpec, PythonSink, SinkOptions, SinkSpec, SourceOptions
from whorl.config.tree import Tree
from whorl.config.validation import validate
from whorl.errors import Finding, PipelineError, WhorlError
from whorl.flow.columns import Columns
from whorl.flow.graph import Edge, Kind, Node, StreamGraph
from whorl.flow.hosts import host_findings
from whorl.flow.loops import loop_findings
from whorl.flow.user_code import user_modules
from whorl.flow.wiring import wire
from whorl.formats import self_contained
from whorl.operators.builtin.effect import Effect
from whorl.operators.operator import OperatorType
from whorl.operators.record import LOOP
from whorl.operators.registry import OPERATORS

Ends = TypeVar("Ends", SourceOptions, SinkOptions)


def build(loaded: Loaded) -> tuple[StreamGraph, list[Finding]]:
    edges, findings = wire(loaded)
    nodes: dict[str, Node] = {}
    with user_modules(loaded.spec.home):
        for node, wrong in _nodes(loaded):
            findings += wrong
            if node is not None:
                nodes.setdefault(node.id, node)
        edges += [
            _to_itself(node) for node in nodes.values() if isinstance(node.what, OperatorType) and node.what.loops
        ]
        columns = Columns(loaded, nodes, edges)
        followed = columns.follow()
    whole = tuple(edge for edge in edges if edge.source in nodes and edge.target in nodes)
    graph = StreamGraph(loaded.spec.name, followed, whole)
    blamed = frozenset(columns.blamed)
    findings += [*columns.findings, *host_findings(loaded, graph, blamed), *loop_findings(loaded, graph)]
    return graph, findings


def _to_itself(node: Node) -> Edge:
    return Edge(node.id, node.id, LOOP, feedback=True, at=node.at)


def _nodes(loaded: Loaded) -> Iterator[tuple[Node | None, list[Finding]]]:
    folder = Path(loaded.spec.file).parent
    for source in loaded.spec.sources:
        if source.options:
            what = _self_contained(_enforced(source.options), folder)
            yield Node(source.id, Kind.SOURCE, source.type, what, what.on_error, at=source.at), []
    for spec in loaded.spec.operators:
        typed, findings = _operator(loaded, spec)
        yield _operator_node(spec, typed) if typed else None, findings
    for sink in loaded.spec.sinks:
        if isinstance(sink.options, PythonSink):
            yield _effect(sink, sink.options), []
        elif sink.options:
            yield Node(sink.id, Kind.SINK, sink.type, _self_contained(sink.options, folder), at=sink.at), []


def _enforced(options: SourceOptions) -> SourceOptions:
    return options.enforced() if isinstance(options, KafkaSource) else options


def _self_contained(options: Ends, folder: Path) -> Ends:
    format: Any = getattr(options, "format", None)
    with suppress(WhorlError):  # `check` says it at its place
        carried = self_contained(format, folder)
        return options if carried is format else options.model_copy(update={"format": carried})
    return options


def _effect(sink: SinkSpec, options: PythonSink) -> Node:
    """To all that runs it, code that writes nothing is an operator that gives nothing."""
    return Node(sink.id, Kind.OPERATOR, sink.type, Effect(options), options.on_error, at=sink.at)


def _operator_node(spec: OperatorSpec, typed: OperatorType) -> Node:
    own = (spec.on_error, spec.isolate, spec.host, spec.publish or "", spec.loop)
    return Node(spec.id, Kind.OPERATOR, spec.type, typed, *own, at=spec.at)


def _operator(loaded: Loaded, spec: OperatorSpec) -> tuple[OperatorType | None, list[Finding]]:
    if not spec.type:
        return None, []
    if spec.type not in OPERATORS:
        message = f"operator '{spec.id}' has no known type: '{spec.type}'"
        hint = suggest(spec.type, OPERATORS, "known types")
        return None, [Finding("unknown-type", message, hint, loaded.place(spec, "type"))]
    try:
        kind = OPERATORS[spec.type]
        tree = _options(loaded, spec)
        options, findings = validate(kind.Options, tree, tree.at, f"operator '{spec.id}'", OPERATOR_KEYS)
        return (kind(options) if options is not None else None), findings
    except PipelineError as error:
        hint = error.hint or "mend or remove the package that offers it"
        return None, [Finding(error.code, f"operator '{spec.id}': {error.message}", hint, spec.at)]


def _options(loaded: Loaded, spec: OperatorSpec) -> Tree:
    """The options where they are written; a form may have added some that are not."""
    written = loaded.document.tree.find(spec.path)
    assert written is not None and spec.at is not None
    own = written.without(*OPERATOR_KEYS)
    added = {key: Tree(value, spec.at) for key, value in spec.options.items() if key not in own.value}
    return replace(own, value={**own.value, **added})
