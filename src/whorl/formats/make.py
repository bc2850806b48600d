"""The codec of a format, and the columns that a format gives by itself.

Avro, Protocol Buffers and XML are imported when a pipeline first names them: their libraries take longer than most checks.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from whorl.formats.codec import Codec
from whorl.formats.csv import csv_codec
from whorl.formats.json import json_codec
from whorl.formats.options import (
    INLINE,
    AvroFormat,
    BytesFormat,
    CsvFormat,
    FormatOptions,
    JsonFormat,
    ProtobufFormat,
    TextFormat,
    XmlFormat,
)
from whorl.formats.plain import bytes_codec, text_codec
from whorl.formats.rows import rows_codec
from whorl.schema import BYTES, TEXT, Schema


def codec(format: FormatOptions, schema: Schema | None) -> Codec:
    """Raises PipelineError where the format lacks something. `schema`: the declared columns, if any."""
    made: Codec
    match format:
        case JsonFormat():
            return json_codec(schema, format.strict)
        case TextFormat():
            return text_codec()
        case BytesFormat():
            return bytes_codec()
        case CsvFormat():
            return csv_codec(format, schema)
        case AvroFormat():
            made = _later("avro").avro_codec(format)
        case ProtobufFormat():
            made = _later("protobuf").protobuf_codec(format)
        case XmlFormat():
            made = _later("xml").xml_codec(format, schema)
        case _:
            return rows_codec()
    return made


def format_schema(format: FormatOptions) -> Schema | None:
    """The columns of a source that declares none; None where only the records know."""
    found: Schema
    match format:
        case TextFormat():
            return TEXT
        case BytesFormat():
            return BYTES
        case CsvFormat(columns=tuple() as names):
            return Schema(tuple((name, "string") for name in names))
        case AvroFormat():
            found = _later("avro").avro_columns(format)
        case ProtobufFormat():
            found = _later("protobuf").protobuf_columns(format)
        case _:
            return None
    return found


def self_contained(format: FormatOptions, folder: Path) -> FormatOptions:
    """Executors have no files of this machine: a schema that a path names, seen from `folder`, goes along. That of a registry is the one of
    this moment, so that all executors read by the same; raises WhorlError where the registry does not give it."""
    match format:
        case AvroFormat(file=str(file)):
            path = folder / file
            given: dict[str, Any] = (
                {"schema_": path.read_text(), "file": None} if path.is_file() else {"file": str(path)}
            )
        case AvroFormat(schema_=None, registry=str()):
            given = {"schema_": json.dumps(_later("avro").avro_schema(format))}
        case ProtobufFormat(descriptor=name) if not name.startswith(INLINE):
            path = folder / name
            given = {"descriptor": _later("protobuf").inline(path) if path.is_file() else str(path)}
        case _:
            return format
    return format.model_copy(update=given)


def _later(format: str) -> Any:
    return import_module(f"whorl.formats.{format}")
