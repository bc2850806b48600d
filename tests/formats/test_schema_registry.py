"""Avro as a schema registry has it, with a registry over real HTTP."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from tests.formats.registry_server import Registry, running_registry

from whorl.errors import PipelineError, Unavailable
from whorl.formats import codec, format_schema, parse_format
from whorl.schema import Schema

OLD = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}
NEW = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": ["null", "string"], "default": None}],
}


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as running:
        yield running


def body(schema: Any, row: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), row)
    return buffer.getvalue()


def made(**options: Any) -> Any:
    return codec(parse_format({"type": "avro", **options}), None)


def test_records_of_any_schema_are_read_as_the_latest(registry: Registry) -> None:
    old, new = registry.register("s-value", OLD), registry.register("s-value", NEW)
    format = {"type": "avro", "registry": registry.url, "subject": "s-value"}
    assert format_schema(parse_format(format)) == Schema.of({"a": "long", "b": "string"})
    decode = codec(parse_format(format), None).decode
    for _ in range(3):
        assert decode(b"\x00" + struct.pack(">I", old) + body(OLD, {"a": 1})) == {"a": 1, "b": None}
        assert decode(b"\x00" + struct.pack(">I", new) + body(NEW, {"a": 2, "b": "x"})) == {"a": 2, "b": "x"}
    assert registry.asked.count(f"GET /schemas/ids/{old}") == 1


def test_a_sink_registers_its_schema_and_writes_its_number(registry: Registry) -> None:
    registry.register("other", OLD)
    written = made(schema=NEW, registry=registry.url, subject="out-value").encode({"a": 1, "b": "x"})
    assert written == b"\x00\x00\x00\x00\x02" + body(NEW, {"a": 1, "b": "x"})
    assert registry.subjects["out-value"] == [2]


def test_without_a_registry_the_schema_is_the_pipelines() -> None:
    both = made(schema=NEW, wire="registry", schema_id=7)
    written = both.encode({"a": 1, "b": None})
    assert written[:5] == b"\x00\x00\x00\x00\x07"
    assert both.decode(written) == {"a": 1, "b": None}


@pytest.mark.parametrize("data", [b"", b"\x00\x00", b"\x01\x00\x00\x00\x01\x02", body(NEW, {"a": 1, "b": "x"})])
def test_what_has_no_number_is_no_record(data: bytes) -> None:
    with pytest.raises(ValueError, match="does not begin with the number of a schema"):
        made(schema=NEW, wire="registry").decode(data)


def test_a_number_that_nobody_knows_is_the_records_fault(registry: Registry) -> None:
    registry.register("s-value", OLD)
    decode = made(registry=registry.url, subject="s-value").decode
    with pytest.raises(ValueError, match=r"has no schema 9 \(404\)"):
        decode(b"\x00\x00\x00\x00\x09\x02")


def test_a_registry_that_is_away_is_nobodys_fault(registry: Registry) -> None:
    decode = made(schema=OLD, registry=registry.url, subject="s-value").decode
    registry.status = 503
    with pytest.raises(Unavailable, match="does not answer") as raised:
        decode(b"\x00\x00\x00\x00\x01\x02")
    assert raised.value.retryable and raised.value.code == "registry"
    registry.status = 0
    registry.register("s-value", OLD)
    assert decode(b"\x00\x00\x00\x00\x01\x02") == {"a": 1}


def test_a_subject_that_is_not_there(registry: Registry) -> None:
    with pytest.raises(PipelineError, match="refuses subject 'none-value': Subject 'none-value' not found"):
        format_schema(parse_format({"type": "avro", "registry": registry.url, "subject": "none-value"}))


def test_nobody_listens() -> None:
    with pytest.raises(Unavailable, match=r"'http://127.0.0.1:9' does not answer"):
        made(registry="http://user:secret@127.0.0.1:9", subject="s")


@pytest.mark.parametrize(
    "wrong", [{}, {"registry": "http://x"}, {"schema": OLD, "subject": "s"}, {"schema": OLD, "file": "x"}]
)
def test_options_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        parse_format({"type": "avro", **wrong})
