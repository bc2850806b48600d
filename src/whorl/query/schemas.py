"""Columns of rows as Spark's types, and back."""

from __future__ import annotations

from pyspark.sql import types as t

from whorl.errors import PipelineError
from whorl.schema import UNKNOWN, Schema, split_top

_SIMPLE: dict[str, t.DataType] = {
    "int": t.IntegerType(), "long": t.LongType(), "float": t.FloatType(), "double": t.DoubleType(), "string": t.StringType(),
    "boolean": t.BooleanType(), "timestamp": t.TimestampType(), "date": t.DateType(), "binary": t.BinaryType(),
}  # fmt: skip
_NAMES: dict[type[t.DataType], str] = {type(kind): name for name, kind in _SIMPLE.items()} | {
    t.ByteType: "int", t.ShortType: "int", t.CharType: "string", t.VarcharType: "string", t.NullType: "string",
}  # fmt: skip


def struct_of(schema: Schema, whose: str) -> t.StructType:
    """Raises PipelineError where the type of a column is not known. `whose` is named in it."""
    for name, kind in schema:
        if UNKNOWN in kind:
            raise PipelineError(
                f"the type of column '{name}' of '{whose}' is not known, and a query needs it",
                hint="declare it in the source's `schema`, or cast it before",
                code="type",
            )
    return t.StructType([t.StructField(name, spark_type(kind)) for name, kind in schema])


def spark_type(kind: str) -> t.DataType:
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind.startswith("decimal"):
        precision, _, scale = kind[len("decimal(") : -1].partition(",")
        return t.DecimalType(int(precision), int(scale or 0))
    outer, _, inner = kind[:-1].partition("<")
    if outer == "struct":
        parts = (part.partition(":") for part in split_top(inner))
        return t.StructType([t.StructField(name, spark_type(each)) for name, _, each in parts])
    inside = [spark_type(part) for part in split_top(inner)]
    return t.ArrayType(inside[0]) if outer == "array" else t.MapType(inside[0], inside[1])


def schema_of(struct: t.StructType) -> Schema:
    return Schema(tuple((field.name, kind_of(field.dataType)) for field in struct.fields))


def kind_of(kind: t.DataType) -> str:
    """`UNKNOWN` for what rows do not hold, such as an interval."""
    if isinstance(kind, t.DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    if isinstance(kind, t.ArrayType):
        return _nested("array", kind.elementType)
    if isinstance(kind, t.MapType):
        return _nested("map", kind.keyType, kind.valueType)
    if isinstance(kind, t.StructType):
        fields = [(field.name, kind_of(field.dataType)) for field in kind.fields]
        known = all(each != UNKNOWN for _, each in fields)
        return "struct<" + ",".join(f"{name}:{each}" for name, each in fields) + ">" if known else UNKNOWN
    return _NAMES.get(type(kind), UNKNOWN)


def _nested(outer: str, *inside: t.DataType) -> str:
    kinds = [kind_of(each) for each in inside]
    return UNKNOWN if UNKNOWN in kinds else f"{outer}<{','.join(kinds)}>"
