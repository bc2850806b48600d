"""From the bytes of records to rows, by Spark itself. What is no row has an error in the words of `whorl.formats`.

What differs from `whorl.formats`: behind a JSON object or an Avro record anything may follow, bytes in JSON that are no UTF-8 are read as
U+FFFD, and a time given in seconds must be a whole number.
"""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from whorl.errors import PipelineError
from whorl.formats.avro import avro_schema
from whorl.formats.options import AvroFormat, BytesFormat, CsvFormat, JsonFormat, RowsFormat, TextFormat
from whorl.operators.sqltext import text as sql_text
from whorl.plan.plan import Input
from whorl.query import frames
from whorl.query.attempts import attempt
from whorl.query.frames import ERROR, FAILED, TOPIC, UNREADABLE, VALUE, columns, once
from whorl.query.schemas import kind_of, struct_of
from whorl.schema import Schema

CORRUPT = "__whorl_corrupt"
_ROW = "__whorl_row"
_NO_TEXT = "the value is not UTF-8 text"
_NO_VALUE = "the record has no value (a tombstone), so there is no row"
_SHOWN = 80
_JSON = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, "allowSingleQuotes": "false"}


def decoded(records: DataFrame, input: Input) -> DataFrame:
    if input.raw:
        return _bytes(records, input)
    match input.format:
        case BytesFormat():
            return _bytes(records, input)
        case TextFormat():
            return _text(records, input)
        case JsonFormat():
            return _json(records, input)
        case CsvFormat():
            return _csv(records, input, input.format)
        case AvroFormat():
            return _avro(records, input, input.format)
        case RowsFormat():
            raise PipelineError(f"'{input.id}' is written in Whorl's own format, which a query does not read")


def reason(input: Input) -> Column:
    """Why a record of this input is no row, from its bytes."""
    match input.format:
        case TextFormat():
            words = F.lit(_NO_TEXT)
        case JsonFormat():
            words = _json_reason(_struct(input))
        case CsvFormat():
            words = _csv_reason(input, input.format)
        case _:
            words = F.lit("the value is not this Avro record")
    plain = isinstance(input.format, TextFormat | BytesFormat)
    told = words if plain else F.when(F.col(VALUE).isNull(), _NO_VALUE).otherwise(words)
    return F.concat(F.lit("ValueError: "), told)


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


def _rows(records: DataFrame, bad: Column, row: list[Column], id: str) -> DataFrame:
    carried = [name for name in frames.hidden(records) if name != _ROW]
    error, failed = F.when(bad, UNREADABLE), F.when(bad, id)
    return records.select(*columns(carried), error.alias(ERROR), failed.alias(FAILED), *row)


def _bytes(records: DataFrame, input: Input) -> DataFrame:
    return _rows(records, F.lit(False), [F.col(VALUE).alias("value")], input.id)


def _text(records: DataFrame, input: Input) -> DataFrame:
    value = _as_text()
    return _rows(records, ~F.is_valid_utf8(value), [value.alias("value")], input.id)


def _as_text() -> Column:
    return F.col(VALUE).cast("string")


def _struct(input: Input) -> StructType:
    if input.schema is None:
        raise PipelineError(
            f"the columns of '{input.id}' are not known, and a query needs them",
            hint="give the source a `schema: {column: type, ...}`",
            code="schema",
        )
    return struct_of(input.schema, input.id)


def _shortened(text: Column) -> Column:
    return F.when(F.length(text) <= _SHOWN, text).otherwise(F.concat(F.substring(text, 1, _SHOWN - 3), F.lit("...")))


# -- json -----------------------------------------------------------------------------------------------------------------------------


def _json(records: DataFrame, input: Input) -> DataFrame:
    struct = _struct(input)
    parsed = records.select("*", once(_parsed(struct)).alias(_ROW))
    row = F.col(_ROW)
    bad = row.isNull() | row[CORRUPT].isNotNull()
    return _rows(parsed, bad, [row.getField(name).alias(name) for name in struct.names], input.id)


def _parsed(struct: StructType) -> Column:
    return F.from_json(_as_text(), StructType([*struct.fields, StructField(CORRUPT, StringType())]), _JSON)


def _json_reason(struct: StructType) -> Column:
    text = _as_text()
    kind = F.schema_of_variant(F.try_parse_json(text))
    return (
        F.when(kind.isNull(), F.concat(F.lit("the value is not JSON: "), _shortened(text)))
        .when(
            ~F.startswith(kind, F.lit("OBJECT")),
            F.concat(F.lit("the value is JSON but not an object: "), _shortened(text)),
        )
        .otherwise(_mismatch(struct))
    )


def _mismatch(struct: StructType) -> Column:
    """The first column that the record has and its row has not."""
    given, row = F.from_json(_as_text(), "map<string,string>"), _parsed(struct)
    each = [_described(field, F.coalesce(row.getField(field.name).isNull(), F.lit(True))) for field in struct.fields]
    found = F.get(F.filter(F.array(*each), lambda x: x["empty"] & given[x["name"]].isNotNull()), F.lit(0))
    name, value = found["name"], _shortened(given[found["name"]])
    words = F.concat(F.lit("column '"), name, F.lit("': '"), value, F.lit("' is not a "), found["kind"])
    return F.coalesce(words, F.lit("the value does not fit the schema"))


def _described(field: StructField, empty: Column) -> Column:
    kind = F.lit(kind_of(field.dataType)).alias("kind")
    return F.struct(F.lit(field.name).alias("name"), kind, empty.alias("empty"))


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
    rows = _rows(known, bad, values, input.id)
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


def _csv_reason(input: Input, options: CsvFormat) -> Column:
    struct = _csv_struct(input, options)
    row = _cells(options, len(struct))
    wrong = [_cell_reason(row[f"c{index}"], field) for index, field in enumerate(struct.fields)]
    count = f"the line does not have {len(struct)} cells ({', '.join(struct.names)})"
    return F.when(~F.is_valid_utf8(_as_text()), _NO_TEXT).otherwise(F.coalesce(*wrong, F.lit(count)))


def _cell_reason(cell: Column, field: StructField) -> Column:
    said = F.concat(
        F.lit(f"column '{field.name}': '"), _shortened(cell), F.lit(f"' is not a {kind_of(field.dataType)}")
    )
    return F.when(cell.isNotNull() & _cell(cell, field.dataType).isNull(), said)


# -- avro -----------------------------------------------------------------------------------------------------------------------------


def _avro(records: DataFrame, input: Input, options: AvroFormat) -> DataFrame:
    schema = avro_schema(options)
    # In the mode that does not raise, a record that cannot be read looks like one of nulls.
    read = F.expr(f"from_avro({VALUE}, {sql_text(json.dumps(schema))}, map('mode', 'FAILFAST'))")
    parsed = records.select("*", once(attempt(records, read)).alias(_ROW))
    names = [field["name"] for field in schema["fields"]]
    row = F.col(_ROW)
    return _rows(parsed, row.isNull(), [row.getField(name).alias(name) for name in names], input.id)
