"""Formats that Spark does not know, read and written in Python workers by the codecs of the other host: both give the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import Row as SparkRow
from pyspark.sql.types import StringType, StructField, StructType

from whorl.errors import WhorlError
from whorl.formats import Codec, FormatOptions, codec
from whorl.operators.record import Row
from whorl.query.fitting import MISFITS
from whorl.query.frames import ERROR, FAILED, VALUE, alive, column, hidden, visible
from whorl.query.schemas import schema_of, struct_of
from whorl.schema import Schema


def by_codec(records: DataFrame, id: str, format: FormatOptions, schema: Schema, no_row: str) -> DataFrame:
    """The rows of records, with what they carry; `no_row` is said of those that are none."""
    carried = [records.schema[name] for name in hidden(records) if name not in (ERROR, FAILED)]
    error = [StructField(name, StringType()) for name in (ERROR, FAILED)]
    rows = struct_of(schema, id)
    read = partial(_read, format, schema, rows, id, no_row)
    return records.mapInArrow(read, StructType([*carried, *error, *rows.fields]))


def _read(
    format: FormatOptions, schema: Schema, struct: StructType, id: str, no_row: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    decode, columns = codec(format, schema).decode, to_arrow_schema(struct, timezone="UTC")
    for batch in batches:
        rows = [_decoded(decode, data, columns) for data in batch.column(VALUE).to_pylist()]
        bad = [row is None for row in rows]
        carried = {name: batch.column(name) for name in batch.schema.names if name not in (ERROR, FAILED)}
        said = {ERROR: [no_row if each else None for each in bad], FAILED: [id if each else None for each in bad]}
        told = {name: pa.array(each, pa.string()) for name, each in said.items()}
        made = {f.name: pa.array([row and row.get(f.name) for row in rows], f.type) for f in columns}
        yield pa.RecordBatch.from_pydict({**carried, **told, **made})


def _decoded(decode: Any, data: bytes | None, columns: pa.Schema) -> Row | None:
    """None where it is no row, or one whose values do not fit the columns."""
    try:
        row: Row | None = decode(data)
        for field in columns if row else ():
            pa.scalar((row or {}).get(field.name), type=field.type)
    except MISFITS:
        return None
    return row


def in_codec(frame: DataFrame, format: FormatOptions) -> Column:
    """For each row a struct: the value of a record, or the error where the format does not take the row."""
    there = visible(frame)
    schema = schema_of(StructType([frame.schema[name] for name in there]))
    written = F.udf(partial(_written, format, schema), "value binary, error string")
    living = alive(frame)  # Spark calls it with every row, those that failed too
    row = F.struct(*[column(name).alias(name) for name in there])
    return written(row if living is None else F.when(living, row))


def _written(format: FormatOptions, schema: Schema, row: SparkRow | None) -> tuple[bytes | None, str | None] | None:
    """A registry that does not answer is no fault of the row: that is raised."""
    if row is None:
        return None
    values = {name: _aware(value) for name, value in row.asDict(recursive=True).items()}
    try:
        return _codec(format, schema).encode(values), None
    except WhorlError:
        raise
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


@cache
def _codec(format: FormatOptions, schema: Schema) -> Codec:
    return codec(format, schema)


def _aware(value: Any) -> Any:
    """PySpark hands times over in the worker's own zone, without saying so."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, list):
        return [_aware(each) for each in value]
    return {key: _aware(each) for key, each in value.items()} if isinstance(value, dict) else value
