"""What holds of every plan, whatever the graph: random pipelines of all kinds of sources, operators and sinks."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.config.spec import FileSink, FileSource, ListSource, RateSource, SourceOptions
from whorl.flow.check import examine as examine_graph
from whorl.flow.graph import Kind
from whorl.plan.hosts import hosts_of
from whorl.plan.plan import Component, Delivery, OutputKind, Plan
from whorl.plan.planner import examine

SOURCES = (
    "{type: kafka, topic: ID, schema: {a: long, at: timestamp}, watermark: {column: at}}",
    "{type: list, rows: [{a: 1}]}",
    "{type: file, path: ID, schema: {a: long, at: timestamp}}",
    "{type: kafka, topic: ID, schema: {a: long}}",
)
OPERATORS = (
    "type: union",
    "type: union",
    "type: union, isolate: true",
    "type: union, host: query",
    "type: union, host: tasks",
    "type: python, function: json.dumps, returns: {a: long}",
    "type: python, function: json.dumps, returns: {a: long}, host: query",
)
SINKS = (
    "{type: kafka, topic: ID, from: [FROM]}",
    "{type: file, path: ID, from: [FROM]}",
    "{type: console, from: [FROM]}",
)
AFTER_ONE = (
    "type: sql, query: SELECT a FROM input",
    "type: aggregate, by: [a], columns: {n: count(*)}",
    "type: aggregate, mode: append, by: [a], columns: {n: count(*)}",
)


def random_pipeline(choice: random.Random) -> str:
    sources = [f"s{index}" for index in range(choice.randrange(1, 4))]
    operators = [f"p{index}" for index in range(choice.randrange(0, 8))]
    lines, unread = [], dict.fromkeys([*sources, *operators])
    for index, id in enumerate(operators):
        before = [*sources, *operators[:index]][-5:]
        read = choice.sample(before, min(len(before), choice.choice((1, 1, 2))))
        kind = choice.choice(OPERATORS if len(read) > 1 or choice.random() < 0.6 else AFTER_ONE)
        ends = ", ".join(f"{{id: {other}, via: topic}}" if choice.random() < 0.1 else other for other in read)
        lines.append(f"  - {{id: {id}, {kind}, from: [{ends}]}}")
        unread = {other: None for other in unread if other not in read}
    ends = [*unread, *choice.sample([*sources, *operators], 1)]
    sinks = [(f"k{index}", [end]) for index, end in enumerate(ends)] + [
        ("last", choice.sample(ends, len(ends) // 2 or 1))
    ]
    return "\n".join(
        [
            "sources:",
            *(f"  {id}: {choice.choice(SOURCES).replace('ID', id)}" for id in sources),
            "operators:" if operators else "",
            *lines,
            "sinks:",
            *(f"  {id}: {choice.choice(SINKS).replace('ID', id).replace('FROM', ', '.join(of))}" for id, of in sinks),
        ]
    )


@pytest.fixture(params=range(150))
def plan(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    choice = random.Random(request.param)
    Path("demo.yaml").write_text(random_pipeline(choice))
    loaded = load("demo.yaml", overrides=[f"edges={choice.choice(('fused', 'fused', 'topics'))}"])
    graph, findings = examine_graph(loaded)
    assert {finding.code for finding in findings} <= {"mode"}, "rows that change, written to files: still a graph"
    return examine(graph, loaded.settings)[0]


def test_whatever_holds(plan: Plan) -> None:
    each_edge_is_a_wire_or_a_topic(plan)
    each_topic_has_a_writer_and_a_reader(plan)
    each_operator_is_in_one_component_on_its_host(plan)
    each_host_can_read_and_write_what_it_must(plan)
    no_component_waits_for_itself(plan)
    no_query_has_two_modes(plan)


def each_edge_is_a_wire_or_a_topic(plan: Plan) -> None:
    inside = Counter((wire.source, wire.output, wire.target) for each in plan.components for wire in each.wires)
    cut = Counter((cut.source, cut.output, cut.target) for cut in plan.cuts)
    edges = Counter((edge.source, edge.output, edge.target) for edge in plan.graph.edges)
    topics = {cut.topic for cut in plan.cuts}
    assert cut + Counter({way: n for way, n in inside.items() if not {way[0], way[2]} & topics}) == edges
    assert all(cut.reason for cut in plan.cuts)


def each_topic_has_a_writer_and_a_reader(plan: Plan) -> None:
    written = Counter(output.topic for each in plan.components for output in each.outputs if is_edge(output.kind))
    read = Counter(input.topic for each in plan.components for input in each.inputs if input.source is None)
    assert written == read == Counter(cut.topic for cut in plan.cuts)
    formats = {output.topic: output.format for output in plan.outputs if is_edge(output.kind)}
    assert formats == {i.topic: i.format for each in plan.components for i in each.inputs if i.source is None}


def is_edge(kind: OutputKind) -> bool:
    return kind is OutputKind.EDGE


def each_operator_is_in_one_component_on_its_host(plan: Plan) -> None:
    placed = [(each.node.id, component.host) for component in plan.components for each in component.operators]
    assert sorted(placed, key=str) == sorted(
        ((id, hosted.host) for id, hosted in hosts_of(plan.graph).items()), key=str
    )
    assert len({component.id for component in plan.components}) == len(plan.components)
    assert len({component.group for component in plan.components}) == len(plan.components)


def each_host_can_read_and_write_what_it_must(plan: Plan) -> None:
    for component in plan.components:
        assert component.inputs and component.reason
        assert all(can_read(component, input.source) for input in component.inputs if input.source)
        files = [output for output in component.outputs if output.kind is OutputKind.FILE]
        assert not files or (component.is_query and component.outputs == tuple(files) and len(files) == 1)
        assert not component.is_query or (component.delivery is Delivery.FILES) == bool(files)
        ends = {end for wire in component.wires for end in (wire.source, wire.target)}
        known = {i.id for i in component.inputs} | {o.id for o in component.outputs}
        assert ends <= known | {each.node.id for each in component.operators}
    sinks = [node.id for node in plan.graph.of_kind(Kind.SINK) if isinstance(node.what, FileSink)]
    assert sorted(sinks) == sorted(output.id for output in plan.outputs if output.kind is OutputKind.FILE)


def can_read(component: Component, source: SourceOptions) -> bool:
    if isinstance(source, FileSource):
        return component.is_query
    counted = isinstance(source, ListSource) or (isinstance(source, RateSource) and source.limit is not None)
    return not (counted and component.is_query)


def no_component_waits_for_itself(plan: Plan) -> None:
    """They are listed along the way of the records, so each one reads only what those before it write."""
    written: set[str] = set()
    for component in plan.components:
        assert {input.topic for input in component.inputs if input.topic} <= written
        written |= {output.topic for output in component.outputs}


def no_query_has_two_modes(plan: Plan) -> None:
    for component in plan.queries:
        natives = [placed.native for placed in component.operators]
        asked = {native.mode or "update" for native in natives if getattr(native, "aggregates", False)}
        assert asked <= {component.mode}
