"""avro: one record in Avro's binary form, without a header, where reader and writer use the schema in the pipeline; or behind the number of
the schema that it was written with, as a registry knows it, and read as the pipeline's schema has it (Avro's own rules of evolution)."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import fastavro

from whorl.errors import PipelineError, WhorlError
from whorl.formats.codec import Codec, Row
from whorl.formats.options import AvroFormat
from whorl.formats.registry import latest, registered, schema_by_id
from whorl.schema import UNKNOWN, Schema

_MAGIC = 0
_HEAD = struct.Struct(">bI")
"""What stands before a record: the magic byte, and the number of its schema."""
_TYPES = {
    "string": "string", "int": "int", "long": "long", "float": "float", "double": "double", "boolean": "boolean",
    "bytes": "binary", "fixed": "binary", "enum": "string",
}  # fmt: skip
_LOGICAL = {"date": "date", "timestamp-millis": "timestamp", "timestamp-micros": "timestamp"}


def avro_codec(options: AvroFormat) -> Codec:
    schema = fastavro.parse_schema(avro_schema(options))
    written_by = _writers(options, schema)
    prefix = _prefix(options) if options.has_number else bytes

    def decode(data: bytes | None) -> Row | None:
        if data is None:
            return None
        writer, start = written_by(data)
        buffer = io.BytesIO(data)
        buffer.seek(start)
        try:
            row: Row = fastavro.schemaless_reader(buffer, writer, schema if writer is not schema else None)
        except Exception as error:
            raise ValueError(f"the value is not this Avro record: {_reason(error)}") from None
        if buffer.tell() != len(data):
            raise ValueError(f"the value is longer than this Avro record, by {len(data) - buffer.tell()} bytes")
        return row

    def encode(row: Row) -> bytes:
        buffer = io.BytesIO()
        buffer.write(prefix())
        try:
            fastavro.schemaless_writer(buffer, schema, row)
        except Exception as error:
            raise ValueError(f"the row does not fit the Avro schema: {_reason(error)}") from None
        return buffer.getvalue()

    return Codec(decode, encode)


def _writers(options: AvroFormat, own: Any) -> Callable[[bytes], tuple[Any, int]]:
    """By a record: the schema that it was written with, and where it begins."""
    if not options.has_number:
        return lambda data: (own, 0)
    url = options.registry

    def written_by(data: bytes) -> tuple[Any, int]:
        if len(data) < _HEAD.size or data[0] != _MAGIC:
            raise ValueError("the value does not begin with the number of a schema, as a registry's records do")
        return (_parsed(url, _HEAD.unpack_from(data)[1]) if url else own), _HEAD.size

    return written_by


@cache
def _parsed(url: str, id: int) -> Any:
    return fastavro.parse_schema(schema_by_id(url, id))


def _prefix(options: AvroFormat) -> Callable[[], bytes]:
    """The registry is asked when the first record is written."""
    url, subject = options.registry, options.subject or ""
    text = json.dumps(avro_schema(options))

    @cache
    def prefix() -> bytes:
        return _HEAD.pack(_MAGIC, registered(url, subject, text) if url else options.schema_id)

    return prefix


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def avro_schema(options: AvroFormat) -> dict[str, Any]:
    """The schema as Avro's own JSON; must be a record."""
    try:
        text = Path(options.file).read_text() if options.file else options.schema_
        found = json.loads(text) if isinstance(text, str) else text
        if found is None and options.registry:
            found = latest(options.registry, options.subject or "")
        fastavro.parse_schema(found)
    except OSError as error:
        raise PipelineError(
            f"the Avro schema '{options.file}' cannot be read: {error.strerror}", code="format"
        ) from None
    except WhorlError:
        raise
    except Exception as error:
        raise PipelineError(f"the Avro schema is wrong: {_reason(error)}", code="format") from None
    if not isinstance(found, dict) or found.get("type") != "record":
        raise PipelineError(
            "the Avro schema is not a record", code="format", hint="wrap it in {type: record, name: …, fields: […]}"
        )
    return found


def avro_columns(options: AvroFormat) -> Schema:
    """The columns that this format gives."""
    return Schema(tuple((field["name"], _type(field["type"])) for field in avro_schema(options)["fields"]))


def _type(kind: Any) -> str:
    if isinstance(kind, list):
        choices = [each for each in kind if each != "null"]
        return _type(choices[0]) if len(choices) == 1 else UNKNOWN
    if isinstance(kind, str):
        return _TYPES.get(kind, UNKNOWN)
    logical = kind.get("logicalType")
    if logical == "decimal":
        return f"decimal({kind['precision']},{kind.get('scale', 0)})"
    if logical is not None:
        return _LOGICAL.get(logical, UNKNOWN)
    return _nested(kind)


def _nested(kind: dict[str, Any]) -> str:
    outer = kind["type"]
    if outer == "array":
        return f"array<{_type(kind['items'])}>"
    if outer == "map":
        return f"map<string,{_type(kind['values'])}>"
    if outer == "record":
        return "struct<" + ",".join(f"{field['name']}:{_type(field['type'])}" for field in kind["fields"]) + ">"
    return _type(outer)
