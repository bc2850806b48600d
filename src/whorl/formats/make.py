"""The codec of a format, and the columns that a format gives by itself."""

from __future__ import annotations

from whorl.formats.avro import avro_codec, avro_columns
from whorl.formats.codec import Codec
from whorl.formats.csv import csv_codec
from whorl.formats.json import json_codec
from whorl.formats.options import AvroFormat, BytesFormat, CsvFormat, FormatOptions, JsonFormat, TextFormat
from whorl.formats.plain import bytes_codec, text_codec
from whorl.formats.rows import rows_codec
from whorl.schema import BYTES, TEXT, Schema


def codec(format: FormatOptions, schema: Schema | None) -> Codec:
    """Raises PipelineError where the format lacks something. `schema`: the declared columns, if any."""
    match format:
        case JsonFormat():
            return json_codec(schema)
        case TextFormat():
            return text_codec()
        case BytesFormat():
            return bytes_codec()
        case CsvFormat():
            return csv_codec(format, schema)
        case AvroFormat():
            return avro_codec(format)
        case _:
            return rows_codec()


def format_schema(format: FormatOptions) -> Schema | None:
    """The columns of a source that declares none; None where only the records know."""
    match format:
        case TextFormat():
            return TEXT
        case BytesFormat():
            return BYTES
        case CsvFormat(columns=tuple() as names):
            return Schema(tuple((name, "string") for name in names))
        case AvroFormat():
            return avro_columns(format)
        case _:
            return None
