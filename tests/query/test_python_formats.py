"""Formats that Spark does not know are read and written by the same codecs on both hosts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hosts import AtRest, Both, comparable
from tests.formats.descriptors import INLINED
from tests.formats.registry_server import running_registry

from whorl.testing import Given

pytestmark = pytest.mark.spark
AVRO = """{type: record, name: r, fields: [{name: id, type: long}, {name: who, type: ["null", string], default: null},
  {name: at, type: {type: long, logicalType: timestamp-micros}}]}"""


def pipeline(format: str, schema: str = "") -> str:
    return f"""
name: demo
sources: {{s: {{type: kafka, topic: s, format: {format}{schema}}}}}
operators: [{{id: f, type: filter, from: s, where: id > 1}}]
sinks: {{out: {{type: kafka, topic: out, from: f, format: {format}}}}}
"""


def test_avro_of_a_registry(both: Callable[..., Both]) -> None:
    with running_registry() as registry:
        format = f"{{type: avro, schema: {AVRO}, registry: '{registry.url}', subject: s-value}}"
        rows = [
            {"id": id, "who": who, "at": "2024-01-01T00:00:00.000001Z"} for id, who in enumerate(["a", None, "c", None])
        ]
        written = both(pipeline(format), s=[*rows, Given(b"\x00\x00\x00\x00\x01"), Given(b"x"), Given(None)]).same()
    assert len(written["out"]) == 2 and len(written["demo.dead"]) == 3
    assert all(record[2].startswith(b"\x00\x00\x00\x00\x01") for record in written["out"])


def test_protobuf(both: Callable[..., Both]) -> None:
    rows = [
        {"id": id, "at": "2024-01-01T00:00:00.000001Z", "kind": "SHOP", "lines": [{"item": "nut", "count": id}], "tags": {"a": id},
         "note": None if id % 2 else "fragile", "paid": 0.1 * id}
        for id in range(4)
    ]  # fmt: skip
    format = f"{{type: protobuf, descriptor: '{INLINED}', message: shop.Order}}"
    written = both(pipeline(format), s=[*rows, Given(b"\xff\xff"), Given(None)]).same()
    assert len(written["out"]) == 2 and len(written["demo.dead"]) == 2


def test_xml(both: Callable[..., Both]) -> None:
    values = [f"<o id='{n}'><id>{n}</id><w>a{n}</w><w>b</w></o>".encode() for n in range(4)]
    records = [Given(value) for value in [*values, b"<o", b"<o><id>x</id></o>", None]]
    written = both(pipeline("xml", ", schema: {id: long, w: array<string>}"), s=records).same()
    assert len(written["out"]) == 2 and len(written["demo.dead"]) == 3
    assert written["out"][0][2] == b"<row><id>2</id><w>a2</w><w>b</w></row>"


def from_json(columns: str, format: str, more: str = "") -> str:
    return f"""
name: demo
sources: {{s: {{type: kafka, topic: s, schema: {{{columns}}}}}}}
operators: [{{id: f, type: filter, from: s, where: id > 0}}]
sinks:
  out: {{type: kafka, topic: out, from: f, format: {format}}}{more}
"""


def reasons(written: dict[str, list[Any]]) -> list[tuple[bytes, bytes]]:
    """Of dead letters: where and why."""
    return [(dict(headers)["whorl-operator"], dict(headers)["whorl-error"]) for *_, headers in written["demo.dead"]]


def dead_on_both(both: Both) -> list[Any]:
    """Both hosts write the same, and say the same of what they do not write."""
    tasks, query = both.tasks(), both.query()
    assert comparable(tasks) == comparable(query)
    assert reasons(tasks) == reasons(query)
    return query["demo.dead"]


def test_a_row_that_protobuf_does_not_take_is_a_dead_letter(both: Callable[..., Both]) -> None:
    format = f"{{type: protobuf, descriptor: '{INLINED}', message: shop.Order}}"
    rows = [{"id": 1, "kind": "SHOP"}, {"id": 2, "kind": "NOPE"}, {"id": 3, "kind": "WEB"}]
    found = both(from_json("id: long, kind: string", format), s=rows)
    (dead,) = dead_on_both(found)
    assert dead[2] == b'{"id":2,"kind":"NOPE"}', "the record as it came"
    ((where, why),) = reasons(found.query())
    assert where == b"out" and why.startswith(
        b"ValueError: column 'kind' does not fit shop.Order.kind: 'NOPE' is none of"
    )
    assert len(found.query()["out"]) == 2


def test_a_row_that_xml_does_not_take_is_a_dead_letter(both: Callable[..., Both]) -> None:
    rows = [{"id": 1, "w": "fine"}, {"id": 2, "w": "a\x01b"}]
    found = both(from_json("id: long, w: string", "xml"), s=rows)
    assert len(dead_on_both(found)) == 1
    ((where, why),) = reasons(found.query())
    assert (where, why) == (b"out", b"ValueError: column 'w': the character '\\x01' cannot be written in XML")
    assert [record[2] for record in found.query()["out"]] == [b"<row><id>1</id><w>fine</w></row>"]


def test_a_row_that_the_registrys_schema_does_not_take_is_a_dead_letter(both: Callable[..., Both]) -> None:
    schema = "{type: record, name: r, fields: [{name: id, type: long}, {name: who, type: string}]}"
    with running_registry() as registry:
        format = f"{{type: avro, schema: {schema}, registry: '{registry.url}', subject: s-value}}"
        found = both(from_json("id: long, who: string", format), s=[{"id": 1, "who": "a"}, {"id": 2, "who": None}])
        assert len(dead_on_both(found)) == 1
        ((where, why),) = reasons(found.query())
        assert where == b"out" and why.startswith(b"ValueError: the row does not fit the Avro schema")
        assert len(found.query()["out"]) == 1


def test_one_that_fails_on_its_way_to_one_sink_is_written_to_none(both: Callable[..., Both]) -> None:
    more = "\n  plain: {type: kafka, topic: plain, from: f}"
    found = both(from_json("id: long, w: string", "xml", more), s=[{"id": 1, "w": "fine"}, {"id": 2, "w": "\x01"}])
    assert len(dead_on_both(found)) == 1
    assert [len(found.query()[topic]) for topic in ("out", "plain")] == [1, 1]


def test_a_row_of_an_aggregation_is_its_own_dead_letter(at_rest: Callable[..., AtRest]) -> None:
    sql = "SELECT kind, count(*) AS id FROM s GROUP BY kind"
    format = f"{{type: protobuf, descriptor: '{INLINED}', message: shop.Order}}"
    text = from_json("kind: string", format).replace(
        "{id: f, type: filter, from: s, where: id > 0}", f"{{id: f, type: sql, query: '{sql}'}}"
    )
    written = at_rest(text, s=[{"kind": "SHOP"}, {"kind": "NOPE"}, {"kind": "NOPE"}]).query()
    (dead,) = written["demo.dead"]
    assert json.loads(dead[2]) == {"kind": "NOPE", "id": 2} and len(written["out"]) == 1
    assert reasons(written)[0][0] == b"out"
