"""Pipelines of row operators: both hosts write the same records, dead letters too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hosts import Both

from whorl.testing import Given

pytestmark = pytest.mark.spark
MakeBoth = Callable[..., Both]
SOURCE = """
name: demo
sources:
  s: {type: kafka, topic: s, key: id, schema: {id: long, name: string, amount: double, at: timestamp, tags: array<string>, m: "decimal(10,2)"}}
"""
ROWS: list[Any] = [
    {"id": 1, "name": "ada", "amount": 20, "at": "2026-01-01T00:00:00.5Z", "tags": ["a", "b"], "m": 1.5},
    Given({"id": 2, "name": "bob", "amount": -1.5, "tags": []}, key="k", headers={"trace": "7"}, timestamp=1000),
    Given({"id": 3}, key=None),
    {"id": 4, "name": 'ü"x\n', "amount": 1e20, "tags": [None, "z"], "m": "12345678.91"},
    Given("no json", key="k", headers={"h": None}),
    Given("[1]"),
    Given("7"),
    Given("null"),
    Given(""),
    Given(None, key="gone"),
    Given('{"id": "text"}'),
    Given('{"id": 99999999999999999999}'),
    {"id": 0, "name": "0", "amount": 0.0},
    {"id": 7, "name": "eve"},
]


def pipeline(operators: str, sinks: str = "out: {type: kafka, topic: out, from: last}") -> str:
    return f"{SOURCE}operators:\n{operators}\nsinks:\n  {sinks}\n"


@pytest.mark.parametrize(
    "operators",
    [
        "  - {id: last, type: forward, from: s}",
        "  - {id: last, type: filter, from: s, where: amount > 0}",
        "  - {id: last, type: filter, from: s, where: 10 / amount > 0}",
        "  - {id: last, type: map, from: s, columns: {amount: amount * 2, twice: 'id * 2', w: 'cast(name as int)'}}",
        "  - {id: last, type: select, from: s, columns: {n: name, part: '100 / id'}}",
        "  - {id: last, type: flat_map, from: s, explode: tags}",
        "  - {id: last, type: flat_map, from: s, explode: tags, as: tag, outer: true}",
        "  - {id: last, type: key_by, from: s, key: [name, id]}",
        "  - {id: last, type: key_by, from: s, key: 'amount'}",
        "  - {id: last, type: fill, from: s, columns: {amount: 7, name: none}}",
        "  - {id: last, type: add, from: s, column: amount, value: 1}",
        "  - {id: last, type: validate, from: s, rules: {positive: amount > 0, named: name is not null}}",
        "  - {id: last, type: validate, from: s, rules: {positive: amount > 0}, on_error: skip}",
        "  - {id: f, type: validate, from: s, rules: {positive: amount > 0}}\n"
        "  - {id: last, type: select, from: f, columns: {x: '1 / amount', y: '5 / id'}}",
        "  - {id: f, type: key_by, from: s, key: name}\n  - {id: last, type: filter, from: f, where: 'id % 2 = 1'}",
    ],
)
def test_a_chain(both: MakeBoth, operators: str) -> None:
    written = both(pipeline(operators), s=ROWS).same()
    assert written["out"] and (written["demo.dead"] or "skip" in operators)


def test_several_ways_are_one_pass_and_a_record_is_processed_whole_or_not_at_all(both: MakeBoth) -> None:
    operators = """
  - {id: b, type: branch, from: s, outputs: [{name: large, where: amount > 10}, {name: small, where: amount <= 10}], default: rest}
  - {id: l, type: map, from: b.large, columns: {name: upper(name)}}
  - {id: strict, type: validate, from: s, rules: {named: name is not null}}
  - {id: k, type: key_by, from: strict, key: name}
"""
    sinks = """large: {type: kafka, topic: large, from: l}
  small: {type: kafka, topic: small, from: b.small, key: [id, name]}
  rest: {type: kafka, topic: rest, from: b.rest, headers: false}
  all: {type: kafka, topic: all, from: s}
  keyed: {type: kafka, topic: keyed, from: k}
  lines: {type: kafka, topic: lines, from: strict, format: {type: csv, columns: [id, name, amount, at, m]}}"""
    pair = both(pipeline(operators, sinks), s=ROWS)
    written = pair.same()
    assert all(written.values())
    assert len(written["all"]) == 5, "a record that fails on one way is on no other"
    plan = pair.compiled().written._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("LocalRelation") <= 1, "one pass"


def test_ways_that_multiply_rows_are_gone_one_after_the_other(both: MakeBoth) -> None:
    operators = """
  - {id: each, type: flat_map, from: s, explode: tags, as: tag}
  - {id: pos, type: filter, from: s, where: amount > 0}
"""
    sinks = "o1: {type: kafka, topic: o1, from: each}\n  o2: {type: kafka, topic: o2, from: pos}"
    both(pipeline(operators, sinks), s=ROWS).same()


def test_two_sources_come_together(both: MakeBoth) -> None:
    text = """
name: demo
sources:
  a: {type: kafka, topic: a, schema: {id: long, x: string}}
  b: {type: kafka, topic: b, schema: {id: long, x: string}}
operators:
  - {id: u, type: union, from: [a, b]}
  - {id: f, type: filter, from: u, where: id > 1}
sinks:
  out: {type: kafka, topic: out, from: f}
"""
    written = both(text, a=[{"id": 1}, {"id": 2, "x": "q"}], b=[{"id": 3}, Given("bad")]).same()
    assert [record[2]["id"] for record in written["out"]] == [2, 3]
    assert len(written["demo.dead"]) == 1


CSV = "{type: csv, delimiter: ';', columns: [id, name, x, day, on, blob, list, m]}"


def test_csv_in_and_out(both: MakeBoth) -> None:
    schema = (
        "{id: long, name: string, x: double, day: date, on: boolean, blob: binary, list: array<int>, m: 'decimal(9,3)'}"
    )
    text = f"""
name: demo
sources: {{s: {{type: kafka, topic: s, format: {CSV}, schema: {schema}}}}}
operators: [{{id: f, type: filter, from: s, where: id >= 0}}]
sinks: {{out: {{type: kafka, topic: out, from: f, format: {CSV}}}}}
"""
    lines = [
        b"1;ada;2.5;2024-02-29;true;aGk=;[1, 2];1.25", b"2;\"semi;colon\";1e20;;;;;", b"3;\"quo\"\"te\";-1e-7;2024-1-5;no;;[];7",
        b"x;a;1;;;;;", b"4;too;few", b"5;a;1;;;;;;many", b"", b"6;;nan;;;;;", b" 7 ;;.5;;;;;0", b"8;a;1;2024-13-01;;;;",
        b"9;a;1;;maybe;;;", b"10;a;1;;;!!;;", b"11;a;1;;;;[\"x\"];", b"\xff;;;;;;;", b"12;12345678.9;12345678.9;;;;;",
        b"13;a\nb;;;;;;",
    ]  # fmt: skip
    written = both(text, s=[Given(line) for line in lines] + [Given(None)]).same()
    assert len(written["out"]) == 6


def test_keys_of_sinks_have_the_same_bytes(both: MakeBoth) -> None:
    schema = (
        "{i: int, d: double, f: float, b: boolean, t: timestamp, day: date, s: string, m: 'decimal(12,3)', x: binary}"
    )
    rows = [
        {"i": 1, "d": 1.5, "f": 0.1, "b": True, "t": "2024-01-01T00:00:00Z", "day": "2024-02-29", "s": "ü\"\n", "m": 1.25},
        {"i": -5, "d": 12345678.9, "f": 2.5, "b": False, "t": "2024-01-01T00:00:00.000001Z", "s": "", "m": -3},
        {"i": 0, "d": 1e16, "f": 1e10, "b": True, "t": "2024-01-01T00:00:00.5Z", "s": "a/b", "m": 0, "x": "aGk="},
        {"i": 7, "d": 1.5e-5, "f": 0, "s": "x"}, {"i": 7, "d": 1e-4}, {"i": 7, "d": 123456789012345.6}, {"d": 0.001},
        {"i": 9, "d": 1e-5}, {"i": 9, "d": 9e-6, "b": True}, {"d": "NaN"}, {"d": "Infinity"}, {"d": -1e22}, {"d": 1.7976931348623157e308},
    ]  # fmt: skip
    keys = ["[i]", "[d]", "[f]", "[b]", "[t]", "[day]", "[s]", "[m]", "[x]", "[i, s]", "[d, b, i]", "[t, day]", "[d]"]
    sinks = "\n  ".join(f"o{n}: {{type: kafka, topic: o{n}, from: k, key: {key}}}" for n, key in enumerate(keys))
    text = f"""
name: demo
sources: {{s: {{type: kafka, topic: s, schema: {schema}}}}}
operators: [{{id: k, type: filter, from: s, where: "true"}}]
sinks:
  {sinks}
"""
    assert both(text, s=rows).same()["o0"]
