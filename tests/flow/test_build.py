from __future__ import annotations

import pytest

from whorl.config.loader import load
from whorl.config.spec import KafkaSource
from whorl.errors import Finding, Location
from whorl.flow.build import build
from whorl.flow.columns import offset_of, together
from whorl.flow.graph import Kind
from whorl.operators.registry import OPERATORS
from whorl.schema import Schema


def edges(graph):
    return [f"{e.source}{'.' + e.output if e.output else ''}>{e.target}" for e in graph.edges]


FULL = """\
name: shop
sources:
  s: {type: kafka, topic: t, schema: {id: string, amount: double}, on_error: fail}
operators:
- {id: large, type: filter, where: amount > 10}
- id: route
  type: branch
  outputs: [{name: big, where: amount > 100}]
  default: small
- {id: slim, type: select, columns: [id], from: route.big, to: {id: b, via: topic}, isolate: true}
- {id: cents, type: map, columns: {cents: cast(amount * 100 as bigint)}, from: [route.small], on_error: skip}
sinks:
  b: {type: kafka, topic: b, from: slim, key: id}
  c: {type: console, from: [cents, slim]}
"""


def test_nodes_edges_and_columns(write):
    write(p=FULL)
    graph, findings = build(load("p.yaml"))
    assert findings == [] and graph.name == "shop"
    assert edges(graph) == [
        "s>large", "large>route", "route.big>slim", "route.small>cents", "slim>b", "cents>c", "slim>c",
    ]  # fmt: skip
    assert [edge.topic for edge in graph.edges if edge.source == "slim"] == [True, False]
    assert {id: node.schema and node.schema.names for id, node in graph.nodes.items()} == {
        "s": ("id", "amount"), "large": ("id", "amount"), "route": ("id", "amount"), "slim": ("id",),
        "cents": ("id", "amount", "cents"), "b": ("id",), "c": ("id", "amount", "cents"),
    }  # fmt: skip
    assert graph.nodes["cents"].schema == Schema.of({"id": "string", "amount": "double", "cents": "long"})
    assert graph.order == ("s", "large", "route", "slim", "cents", "b", "c")


def test_what_a_node_carries(write):
    write(p=FULL)
    graph, _ = build(load("p.yaml"))
    source, slim, cents = graph.nodes["s"], graph.nodes["slim"], graph.nodes["cents"]
    assert source.kind is Kind.SOURCE and isinstance(source.what, KafkaSource) and source.on_error.action == "fail"
    assert slim.isolate and slim.type == "select" and slim.at == Location("p.yaml", 10, 3)
    assert cents.on_error.action == "skip" and not cents.isolate
    assert graph.nodes["c"].kind is Kind.SINK


def test_an_edge_of_a_wrong_node_is_left_out(write):
    write(
        p="sources: {s: {type: rate}}\noperators:\n- {id: a, type: nope}\n- {id: b, type: filter, where: anything > 1}\nsinks: {o: {type: list}}\n"
    )
    graph, findings = build(load("p.yaml"))
    assert [finding.code for finding in findings] == ["unknown-type"]
    assert list(graph.nodes) == ["s", "b", "o"] and edges(graph) == ["b>o"]


def test_the_short_form_makes_the_same_graph(write):
    write(
        procs="- {id: p1, type: forward, to: [p2, p3]}\n- {id: p2, type: sum, to: p4}\n- {id: p3, type: sum, value: 5, to: p4}\n- {id: p4, type: forward, to: sink}\n",
        config="source_topic: in\nsink_topic: out\n",
    )
    graph, findings = build(load("procs.yaml"))
    assert findings == []
    assert edges(graph) == ["source>p1", "p1>p2", "p1>p3", "p2>p4", "p3>p4", "p4>sink"]
    assert [graph.nodes[id].what.options.value for id in ("p2", "p3")] == [1, 5]
    assert graph.nodes["sink"].schema == Schema.of({"value": "string"})


def test_no_option_of_an_operator_hides_behind_the_keys_that_all_have():
    common = {"id", "type", "from", "to", "on_error", "isolate"}
    names = {(t, f.alias or n) for t, kind in OPERATORS.items() for n, f in kind.Options.model_fields.items()}
    assert [(t, n) for t, n in names if n in common] == []


@pytest.mark.parametrize(
    "schemas, expected",
    [
        ([], None),
        ([None], None),
        ([{"a": "long"}, None], None),
        ([{"a": "long"}, {"a": "long"}], {"a": "long"}),
        ([{"a": "long"}, {"b": "string", "a": "double"}], {"a": "unknown", "b": "string"}),
    ],
)
def test_columns_of_several_inputs(schemas, expected):
    given = [schema and Schema.of(schema) for schema in schemas]
    assert together(given) == (Schema.of(expected) if expected else None)


@pytest.mark.parametrize(
    "sql, message, offset",
    [
        ("a > 1 1", "'a > 1 1' does not parse at line 1, column 7: unexpected near '1'", 6),
        ("a >", "'a >' does not parse at line 1, column 3: something is missing after '>'", 2),
        ("xa + a + b", "there is no column 'a' in 'xa + a + b'", 5),
        ("a", "no word of it", 0),
        ("a", "'zz' is not there", 0),
    ],
)
def test_the_place_inside_an_expression(sql, message, offset):
    assert offset_of(sql, message) == offset


def test_findings_print_as_one_line():
    finding = Finding("column", "no 'x'", "did you mean 'y'?", Location("p.yaml", 3, 4))
    assert str(finding) == "p.yaml:3:4: [column] no 'x' (did you mean 'y'?)"
