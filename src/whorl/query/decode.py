"""From the bytes of records to rows, by Spark itself. What is no row has an error in the words of `whorl.formats`.

What differs from `whorl.formats`: behind a JSON object or an Avro record anything may follow, bytes in JSON that are no UTF-8 are read as
U+FFFD, and a time given in seconds must be a whole number. And every record is read: what nothing looks into does not pass as bytes, as it
does in tasks.
"""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from whorl.errors import PipelineError
from whorl.formats.avro import avro_schema
from whorl.formats.options import (
    AvroFormat,
    BytesFormat,
    CsvFormat,
    JsonFormat,
    ProtobufFormat,
    RowsFormat,
    TextFormat,
    XmlFormat,
)
from whorl.operators.sqltext import text as sql_text
from whorl.plan.plan import Input
from whorl.query import frames
from whorl.query.attempts import attempt
from whorl.query.codecs import by_codec
from whorl.query.frames import ERROR, FAILED, TOPIC, VALUE, columns, once
from whorl.query.schemas import struct_of
from whorl.schema import Schema

CORRUPT = "__whorl_corrupt"
_ROW = "__whorl_row"
_JSON = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, "allowSingleQuotes": "false"}


def decoded(records: DataFrame, input: Input) -> DataFrame:
    match input.format:
        case BytesFormat():
            return _bytes(records, input)
        case TextFormat():
            return _text(records, input)
        case JsonFormat():
            return _json(records, input)
        case CsvFormat():
            return _csv(records, input, input.format)
        case AvroFormat(has_number=False):
            return _avro(records, input, input.format)
        case AvroFormat() | ProtobufFormat() | XmlFormat():
            return by_codec(records, input.id, input.format, _known(input), no_row(input))
        case RowsFormat():
            raise PipelineError(f"'{input.id}' is written in Whorl's own format, which a query does not read")


def no_row(input: Input) -> str:
    """Said of a record of this input that is no row. Which column it is that does not fit, the writer finds out from the record."""
    return f"ValueError: the value is not {input.format.type} that fits the columns of '{input.id}'"


def lines(rows: DataFrame, input: Input) -> DataFrame:
    """Of files that Spark has read, with a column for lines that are no rows."""
    # Whole rows: Spark would not look at columns that nobody reads, nor at lines of which only the fault is asked.
    names = frames.visible(rows)
    whole = once(F.struct(*columns(names), F.col(CORRUPT)))
    read = rows.select(F.col("_metadata.file_path").alias(TOPIC), whole.alias(_ROW))
    row = F.col(_ROW)
    fields = read.select(TOPIC, row[CORRUPT].alias(CORRUPT), *[row.getField(name).alias(name) for name in names])
    bad = F.col(CORRUPT).isNotNull()
    given = {
        VALUE: F.col(CORRUPT).cast("binary"),
        TOPIC: F.col(TOPIC),
        ERROR: F.when(bad, "ValueError: the line does not fit the columns"),
        FAILED: F.when(bad, input.id),
    }
    return frames.from_nowhere(fields, **given)


def _rows(records: DataFrame, bad: Column, row: list[Column], input: Input) -> DataFrame:
    carried = [name for name in frames.hidden(records) if name != _ROW]
    error, failed = F.when(bad, no_row(input)), F.when(bad, input.id)
    return records.select(*columns(carried), error.alias(ERROR), failed.alias(FAILED), *row)


def _bytes(records: DataFrame, input: Input) -> DataFrame:
    return _rows(records, F.lit(False), [F.col(VALUE).alias("value")], input)


def _text(records: DataFrame, input: Input) -> DataFrame:
    value = _as_text()
    return _rows(records, ~F.is_valid_utf8(value), [value.alias("value")], input)


def _as_text() -> Column:
    return F.col(VALUE).cast("string")


def _struct(input: Input) -> StructType:
    return struct_of(_known(input), input.id)


def _known(input: Input) -> Schema:
    if input.schema is None:
        raise PipelineError(
            f"the columns of '{input.id}' are not known, and a query needs them",
            hint="give the source a `schema: {column: type, ...}`",
            code="schema",
        )
    return input.schema


# -- json -----------------------------------------------------------------------------------------------------------------------------


def _json(records: DataFrame, input: Input) -> DataFrame:
    struct = _struct(input)
    parsed = records.select("*", once(_parsed(struct)).alias(_ROW))
    row = F.col(_ROW)
    bad = row.isNull() | row[CORRUPT].isNotNull()
    if isinstance(input.format, JsonFormat) and input.format.strict:
        bad = bad | _has_other(struct.names)
    return _rows(parsed, bad, [row.getField(name).alias(name) for name in struct.names], input)


def _has_other(names: list[str]) -> Column:
    """Whether the object has a column besides these."""
    there = F.json_object_keys(_as_text())
    return F.size(F.array_except(there, F.array(*[F.lit(name) for name in names]))) > 0


def _parsed(struct: StructType) -> Column:
    return F.from_json(_as_text(), StructType([*struct.fields, StructField(CORRUPT, StringType())]), _JSON)


# -- csv ------------------------------------------------------------------------------------------------------------------------------


def _csv(records: DataFrame, input: Input, options: CsvFormat) -> DataFrame:
    struct = _csv_struct(input, options)
    parsed = records.select("*", once(_cells(options, len(struct))).alias(_ROW))
    made = [_cell(F.col(_ROW)[f"c{index}"], field.dataType) for index, field in enumerate(struct.fields)]
    known = parsed.select("*", *[once(value).alias(f"{_ROW}_{index}") for index, value in enumerate(made)])
    row = F.col(_ROW)
    bad = row.isNull() | row[CORRUPT].isNotNull() | _no_line(options, len(struct))
    for index in range(len(made)):
        bad = bad | (row[f"c{index}"].isNotNull() & F.col(f"{_ROW}_{index}").isNull())
    values = [F.col(f"{_ROW}_{index}").alias(field.name) for index, field in enumerate(struct.fields)]
    rows = _rows(known, bad, values, input)
    return rows.drop(*[f"{_ROW}_{index}" for index in range(len(made))])


def _csv_struct(input: Input, options: CsvFormat) -> StructType:
    names = options.columns or (input.schema.names if input.schema else ())
    kinds = {name: input.schema.type_of(name) for name in input.schema.names} if input.schema else {}
    return struct_of(Schema(tuple((name, kinds.get(name, "string")) for name in names)), input.id)


def _cells(options: CsvFormat, count: int) -> Column:
    reading = {
        "sep": options.delimiter,
        "quote": options.quote,
        "escape": options.quote,
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": CORRUPT,
    }
    cells = [f"c{index} string" for index in range(count)]
    return F.from_csv(_as_text(), ", ".join([*cells, f"{CORRUPT} string"]), reading)


def _no_line(options: CsvFormat, cells: int) -> Column:
    """What Spark would take for a line all the same."""
    text = _as_text()
    broken = F.contains(text, F.lit("\n")) & ~F.contains(text, F.lit(options.quote))
    wrong = ~F.is_valid_utf8(text) | broken
    return wrong if cells == 1 else wrong | (text == "")


def _cell(cell: Column, kind: DataType) -> Column:
    """As Spark casts text; nested types are JSON in the cell, binary is base64."""
    match kind:
        case StringType():
            return cell
        case BinaryType():
            return F.try_to_binary(cell, F.lit("base64"))
        case ArrayType() | MapType() | StructType():
            return F.from_json(cell, kind)
        case _:
            return cell.try_cast(kind)


# -- avro -----------------------------------------------------------------------------------------------------------------------------


def _avro(records: DataFrame, input: Input, options: AvroFormat) -> DataFrame:
    schema = avro_schema(options)
    # In the mode that does not raise, a record that cannot be read looks like one of nulls.
    read = F.expr(f"from_avro({VALUE}, {sql_text(json.dumps(schema))}, map('mode', 'FAILFAST'))")
    parsed = records.select("*", once(attempt(records, read)).alias(_ROW))
    names = [field["name"] for field in schema["fields"]]
    row = F.col(_ROW)
    return _rows(parsed, row.isNull(), [row.getField(name).alias(name) for name in names], input)
