"""Which host a node needs, what it reads as SQL names it, and which edges SQL draws."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.config.loader import load
from whorl.flow.check import examine
from whorl.flow.graph import StreamGraph
from whorl.operators.native import Query, Select
from whorl.operators.operator import OperatorType

SOURCES = """\
sources:
  orders: {type: kafka, topic: o, schema: {id: string, amount: double, at: timestamp}, watermark: {column: at, delay: 5s}}
  users: {type: file, path: users, format: parquet, static: true, schema: {id: string, name: string}}
"""


def graph(write: Any, operators: str, sinks: str = "sinks:\n  out: {type: list}\n", head: str = SOURCES) -> StreamGraph:
    write(p=head + "operators:\n" + operators + sinks)
    made, findings = examine(load("p.yaml"))
    assert not findings, "\n".join(map(str, findings))
    return made


def operator(graph: StreamGraph, id: str) -> OperatorType:
    what = graph.nodes[id].what
    assert isinstance(what, OperatorType)
    return what


def test_sql_without_from_reads_what_it_names(write: Any) -> None:
    made = graph(
        write,
        "- {id: large, type: filter, from: orders, where: amount > 1000}\n"
        "- {id: named, type: sql, query: 'SELECT l.id, amount, name FROM Large l JOIN users u ON l.id = u.id'}\n",
    )
    assert [(edge.source, edge.target) for edge in made.edges] == [
        ("orders", "large"), ("large", "named"), ("users", "named"), ("named", "out"),
    ]  # fmt: skip
    assert made.nodes["named"].schema is not None
    assert made.nodes["named"].schema.columns == (("id", "string"), ("amount", "double"), ("name", "string"))


def test_sql_in_a_sequence_reads_what_stands_before(write: Any) -> None:
    head = SOURCES[: SOURCES.index("  users")]
    made = graph(
        write, "- {id: a, type: forward}\n- {id: b, type: sql, query: SELECT id FROM input}\n", head=head
    )  # fmt: skip
    assert [edge.source for edge in made.into("b")] == ["a"]
    assert operator(made, "b").native(made.entering("b")) == Select(None, (("id", "id"),))


def test_outputs_of_a_branch_are_tables(write: Any) -> None:
    made = graph(
        write,
        "- {id: size, type: branch, from: orders, outputs: [{name: big, where: amount > 9}], default: small}\n"
        "- {id: a, type: sql, query: 'SELECT size_big.id FROM size_big JOIN users ON size_big.id = users.id'}\n",
    )
    assert [(edge.source, edge.output, edge.table) for edge in made.into("a")] == [
        ("size", "big", "size_big"), ("users", "", "users"),
    ]  # fmt: skip


def test_an_edge_that_is_pointed_at_is_drawn_once(write: Any) -> None:
    head = SOURCES.replace("delay: 5s}}", "delay: 5s}, to: a}")
    made = graph(
        write, "- {id: a, type: sql, query: 'SELECT orders.id FROM orders JOIN users USING (id)'}\n", head=head
    )
    assert sorted(edge.source for edge in made.into("a")) == ["orders", "users"]


def test_an_expression_outside_the_subset_moves_the_operator(write: Any) -> None:
    made = graph(
        write,
        "- {id: a, type: map, from: orders, columns: {x: soundex(id)}}\n- {id: b, type: join, from: [a, users], on: id}\n",
    )
    assert made.nodes["a"].not_in_tasks == "the expression 'soundex(id)' is outside the subset that tasks compile"
    assert made.nodes["b"].not_in_tasks == ""


def test_a_cast_that_tasks_cannot_do_moves_it_too(write: Any) -> None:
    head = "sources:\n  s: {type: kafka, topic: t, schema: {a: array<int>}}\n"
    made = graph(write, "- {id: a, type: cast, columns: {a: array<long>}}\n", head=head)
    assert "array<bigint>" in made.nodes["a"].not_in_tasks


def test_what_spark_alone_can_read_is_no_finding(write: Any) -> None:
    head = SOURCES[: SOURCES.index("  users")]
    strange = "SELECT id FROM orders MATCH_SOMETHING NEW (x)"
    made = graph(
        write, f"- {{id: a, type: sql, from: orders, query: {strange}}}\n- {{id: b, type: distinct}}\n", head=head
    )
    assert made.nodes["a"].schema is None and made.nodes["b"].schema is None
    native = operator(made, "a").native(made.entering("a"))
    assert isinstance(native, Query) and native.statements == (strange,) and native.tables == ()


def test_host_is_kept(write: Any) -> None:
    head = SOURCES[: SOURCES.index("  users")]
    made = graph(
        write, "- {id: a, type: filter, host: query, where: amount > 1}\n- {id: b, type: forward}\n", head=head
    )
    assert (made.nodes["a"].host, made.nodes["b"].host) == ("query", "")


@pytest.mark.parametrize(
    "aggregate, final",
    [
        ("{id: a, type: aggregate, from: orders, columns: {n: count(*)}, window: {column: at, size: 1m}}", True),
        ("{id: a, type: aggregate, from: orders, columns: {n: count(*)}, window: {column: at, size: 1m}, mode: update}", False),
        ("{id: a, type: aggregate, from: orders, by: [id], columns: {n: count(*)}}", False),
        ("{id: a, type: sql, query: 'SELECT count(*) AS n FROM orders GROUP BY window(at, \\'1 minute\\')'}", True),
        ("{id: a, type: sql, query: SELECT id FROM orders WHERE amount > 1}", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("between", ["", "- {id: f, type: forward}\n"])
def test_files_take_final_rows_only(write: Any, aggregate: str, final: bool, between: str) -> None:
    head = SOURCES[: SOURCES.index("  users")]
    write(
        p=f"{head}operators:\n- {aggregate}\n{between}sinks:\n  out: {{type: file, path: out}}\n".replace("\\'", "''")
    )
    codes = [finding.code for finding in examine(load("p.yaml"))[1]]
    assert codes == ([] if final else ["mode"])


def test_a_topic_between_makes_every_row_final(write: Any) -> None:
    head = SOURCES[: SOURCES.index("  users")]
    sinks = "sinks:\n  out: {type: file, path: out, from: {id: a, via: topic}}\n"
    graph(write, "- {id: a, type: aggregate, by: [id], columns: {n: count(*)}}\n", sinks, head)


@pytest.mark.parametrize(
    "operators, hint",
    [
        ("- {id: a, type: distinct}\n", "source 's'"),
        ("- {id: m, type: map, columns: {x: y + 1}}\n- {id: a, type: distinct}\n", "source 's'"),
        ("- {id: p, type: python, function: json.dumps}\n- {id: a, type: distinct}\n", "operator 'p'"),
    ],
)
def test_the_hint_names_where_columns_become_unknown(write: Any, operators: str, hint: str) -> None:
    write(p=f"sources:\n  s: {{type: kafka, topic: t}}\noperators:\n{operators}sinks:\n  out: {{type: list}}\n")
    (finding,) = examine(load("p.yaml"))[1]
    assert finding.code == "schema" and hint in finding.hint
