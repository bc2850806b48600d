"""avro: one record in Avro's binary form, without a header; reader and writer use the schema in the pipeline."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro

from whorl.errors import PipelineError
from whorl.formats.codec import Codec, Row
from whorl.formats.options import AvroFormat
from whorl.schema import UNKNOWN, Schema

_TYPES = {
    "string": "string", "int": "int", "long": "long", "float": "float", "double": "double", "boolean": "boolean",
    "bytes": "binary", "fixed": "binary", "enum": "string",
}  # fmt: skip
_LOGICAL = {"date": "date", "timestamp-millis": "timestamp", "timestamp-micros": "timestamp"}


def avro_codec(options: AvroFormat) -> Codec:
    schema = fastavro.parse_schema(avro_schema(options))

    def decode(data: bytes | None) -> Row | None:
        if data is None:
            return None
        buffer = io.BytesIO(data)
        try:
            row: Row = fastavro.schemaless_reader(buffer, schema, None)
        except Exception as error:
            raise ValueError(f"the value is not this Avro record: {_reason(error)}") from None
        if buffer.tell() != len(data):
            raise ValueError(f"the value is longer than this Avro record, by {len(data) - buffer.tell()} bytes")
        return row

    def encode(row: Row) -> bytes:
        buffer = io.BytesIO()
        try:
            fastavro.schemaless_writer(buffer, schema, row)
        except Exception as error:
            raise ValueError(f"the row does not fit the Avro schema: {_reason(error)}") from None
        return buffer.getvalue()

    return Codec(decode, encode)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def avro_schema(options: AvroFormat) -> dict[str, Any]:
    """The schema as Avro's own JSON; must be a record."""
    try:
        text = Path(options.file).read_text() if options.file else options.schema_
        found = json.loads(text) if isinstance(text, str) else text
        fastavro.parse_schema(found)
    except OSError as error:
        raise PipelineError(
            f"the Avro schema '{options.file}' cannot be read: {error.strerror}", code="format"
        ) from None
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
