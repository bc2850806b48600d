"""From rows to the bytes of records, by Spark itself, as `whorl.formats` writes them."""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from whorl.errors import PipelineError
from whorl.formats.avro import avro_schema
from whorl.formats.options import AvroFormat, BytesFormat, CsvFormat, JsonFormat, ProtobufFormat, TextFormat, XmlFormat
from whorl.operators.sqltext import text as sql_text
from whorl.plan.plan import Output, OutputKind
from whorl.query.frames import ENCODED, column, visible
from whorl.query.schemas import kind_of
from whorl.query.texts import iso, python_double

_JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


def encoded(frame: DataFrame, output: Output) -> Column:
    """The value of a record of this output. Raises PipelineError where the columns do not fit the format. What only Python writes must be
    there already (`whorl.query.encoding`)."""
    match output.format:
        case TextFormat():
            return _text(frame, output).cast("binary")
        case BytesFormat():
            return _bytes(frame, output)
        case CsvFormat():
            return _csv(frame, output.format).cast("binary")
        case AvroFormat(has_number=False):
            return _avro(frame, output.format)
        case AvroFormat() | ProtobufFormat() | XmlFormat():
            return F.col(ENCODED).getField("value")
        case JsonFormat():
            # Between components, NaN and all digits of a decimal come back as they were; a sink's reader gets plain JSON.
            return as_json(frame, exact=output.kind is not OutputKind.SINK).cast("binary")
        case _:
            raise PipelineError(f"'{output.id}' is to be written in Whorl's own format, which a query does not write")


def as_json(frame: DataFrame, *, exact: bool) -> Column:
    fields = [field for field in frame.schema.fields if field.name in visible(frame)]
    return F.to_json(F.struct(*[_ready(column(f.name), f.dataType, exact).alias(f.name) for f in fields]), _JSON)


def _ready(value: Column, kind: t.DataType, exact: bool) -> Column:
    """What `to_json` would not write as `whorl.formats.json` does, made ready for it."""
    match kind:
        case t.DoubleType():
            return value if exact else F.when(~F.isnan(value) & (F.abs(value) != float("inf")), value)
        case t.FloatType():
            return _ready(value.cast("double"), t.DoubleType(), exact)
        case t.DecimalType() | t.NullType():
            return value.cast("string") if exact or isinstance(kind, t.NullType) else value
        case t.ArrayType() if _odd(kind.elementType):
            return F.transform(value, lambda each: _ready(each, kind.elementType, exact))
        case t.MapType() if _odd(kind.valueType):
            return F.transform_values(value, lambda _, each: _ready(each, kind.valueType, exact))
        case t.StructType() if any(_odd(field.dataType) for field in kind.fields):
            fields = [_ready(value.getField(f.name), f.dataType, exact).alias(f.name) for f in kind.fields]
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            return value


def _odd(kind: t.DataType) -> bool:
    if isinstance(kind, t.ArrayType):
        return _odd(kind.elementType)
    if isinstance(kind, t.MapType):
        return _odd(kind.valueType)
    if isinstance(kind, t.StructType):
        return any(_odd(field.dataType) for field in kind.fields)
    return isinstance(kind, t.DoubleType | t.FloatType | t.DecimalType | t.NullType)


def _text(frame: DataFrame, output: Output) -> Column:
    value, kind = _value(frame, output)
    if isinstance(kind, t.DoubleType | t.FloatType):
        return python_double(value.cast("double"))
    if isinstance(kind, t.StringType | t.BooleanType | t.IntegralType | t.NullType):
        return value.cast("string")
    raise PipelineError(
        f"column 'value' of '{output.id}' is a {kind_of(kind)}, which is not text",
        hint="cast it to string",
        code="type",
    )


def _bytes(frame: DataFrame, output: Output) -> Column:
    value, kind = _value(frame, output)
    if isinstance(kind, t.BinaryType | t.NullType):
        return value.cast("binary")
    raise PipelineError(
        f"column 'value' of '{output.id}' is a {kind_of(kind)}, which is not bytes",
        hint="cast it to binary",
        code="type",
    )


def _value(frame: DataFrame, output: Output) -> tuple[Column, t.DataType]:
    names = visible(frame)
    if "value" not in names:
        raise PipelineError(
            f"there is no column 'value' to write to '{output.id}'; the rows have: {', '.join(names)}",
            hint="select it, or write json",
            code="column",
        )
    return F.col("value"), frame.schema["value"].dataType


def _csv(frame: DataFrame, options: CsvFormat) -> Column:
    there = visible(frame)
    names = list(options.columns or there)
    cells = [_cell(column(n), frame.schema[n].dataType, options) if n in there else F.lit("") for n in names]
    if len(cells) == 1:
        return F.when(cells[0] == "", options.quote * 2).otherwise(cells[0])
    return F.concat_ws(options.delimiter, *cells)


def _cell(value: Column, kind: t.DataType, options: CsvFormat) -> Column:
    text = F.coalesce(_cell_text(value, kind), F.lit(""))
    quote = options.quote
    odd = [F.contains(text, F.lit(each)) for each in (options.delimiter, quote, "\n", "\r")]
    quoted = F.concat(F.lit(quote), F.replace(text, F.lit(quote), F.lit(quote * 2)), F.lit(quote))
    return F.when(odd[0] | odd[1] | odd[2] | odd[3], quoted).otherwise(text)


def _cell_text(value: Column, kind: t.DataType) -> Column:
    match kind:
        case t.DoubleType() | t.FloatType():
            return python_double(value.cast("double"))
        case t.TimestampType():
            return iso(value)
        case t.BinaryType():
            return F.base64(value)
        case t.ArrayType() | t.MapType() | t.StructType():
            return F.to_json(_ready(value, kind, False), _JSON)
        case _:
            return value.cast("string")


def _avro(frame: DataFrame, options: AvroFormat) -> Column:
    schema = avro_schema(options)
    names = [field["name"] for field in schema["fields"]]
    there = visible(frame)
    row = F.struct(*[column(name) if name in there else F.lit(None).alias(name) for name in names])
    text = sql_text(json.dumps(schema))
    return F.call_function("to_avro", row, F.expr(text))
