"""Arrays, maps and structs: lists and dicts in Python. An index outside an array raises; a missing map key is null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import whorl.operators.expressions.types as types
from whorl.operators.expressions.casts import cast
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.logic import booleans, choose, coalesce, common, is_null, negation, null_if
from whorl.operators.expressions.registry import register
from whorl.operators.expressions.types import UNKNOWN, VOID
from whorl.operators.expressions.value import NULL, Emitter, Value, null


def _item(array: list[Any], index: int) -> Any:
    if 0 <= index < len(array):
        return array[index]
    raise IndexError(f"index {index} is outside an array of {len(array)}")


def _element(array: list[Any], position: int) -> Any:
    if position == 0:
        raise IndexError("index 0 is not valid: elements count from 1, or from -1 at the end")
    if abs(position) > len(array):
        raise IndexError(f"index {position} is outside an array of {len(array)}")
    return array[position - 1 if position > 0 else position]


def access(emitter: Emitter, value: Value, key: Value) -> Value:
    """`a[0]`, `m['k']`, `s.field`."""
    if UNKNOWN in (value.type, key.type):
        return Value("None", UNKNOWN)
    if value.type.startswith("struct<"):
        return field(emitter, value, key.constant)
    if value.type.startswith("map<"):
        return _map_value(emitter, value, key)
    if value.type.startswith("array<"):
        if key.type not in (*types.INTEGRAL, VOID):
            raise ExpressionError(f"an array index is a whole number, not a {key.type}", code="unsupported")
        return emitter.call(_item, [value, key], types.element_type(value.type), nullable=True)
    if value.type == VOID:
        return NULL
    raise ExpressionError(f"a {value.type} has no parts", code="unsupported")


def field(emitter: Emitter, struct: Value, name: Any) -> Value:
    fields = types.field_types(struct.type)
    found = name if name in fields else next((each for each in fields if each.lower() == str(name).lower()), None)
    if found is None:
        raise ExpressionError(f"there is no field '{name}'", code="column", hint=f"fields: {', '.join(fields)}")
    return emitter.apply([struct], f"{{}}.get({found!r})".format, fields[found], nullable=True)


def _map_value(emitter: Emitter, value: Value, key: Value) -> Value:
    key_type, value_type = types.map_types(value.type)
    if key.type not in (key_type, VOID) and not (types.is_numeric(key.type) and types.is_numeric(key_type)):
        raise ExpressionError(f"{value.type} has no {key.type} keys", code="unsupported")
    return emitter.apply([value, cast(emitter, key, key_type)], "{}.get({})".format, value_type, nullable=True)


@register("size(collection) -> int", "Number of elements of an array or map.", 1, aliases=["cardinality"])
def _size(emitter: Emitter, args: Sequence[Value]) -> Value:
    if not args[0].type.startswith(("array<", "map<")) and args[0].type not in (VOID, UNKNOWN):
        raise ExpressionError(f"size takes an array or a map, not a {args[0].type}", code="unsupported")
    return emitter.apply(args, "len({})".format, "int")


@register("element_at(collection, key) -> element type", "Of an array, from 1 or from -1 at the end; or of a map.", 2)
def _element_at(emitter: Emitter, args: Sequence[Value]) -> Value:
    value, key = args
    if value.type.startswith("array<") and key.type in ("int", "long", VOID):
        return emitter.call(_element, [value, key], types.element_type(value.type), nullable=True)
    if value.type.startswith("array<") and key.type != UNKNOWN:
        raise ExpressionError(f"an array index is a whole number, not a {key.type}", code="unsupported")
    if value.type.startswith("struct<"):
        raise ExpressionError(f"element_at takes an array or a map, not a {value.type}", code="unsupported")
    return access(emitter, value, key)


@register("array(value, …) -> array", "Of values of one type.", 0, None)
def _array(emitter: Emitter, args: Sequence[Value]) -> Value:
    kind = common(args, "array")
    items = [cast(emitter, arg, kind).code for arg in args]
    return Value(f"[{', '.join(items)}]", f"array<{kind}>", nullable=False)


@register("array_contains(array, value) -> boolean", "Whether it is an element; null if not but a null is.", 2)
def _array_contains(emitter: Emitter, args: Sequence[Value]) -> Value:
    array, value = args
    if UNKNOWN in (array.type, value.type):
        return Value("None", "boolean")
    if VOID in (array.type, value.type):
        return null("boolean")
    if not array.type.startswith("array<"):
        raise ExpressionError(f"array_contains takes an array, not a {array.type}", code="unsupported")
    kind = common([Value("", types.element_type(array.type)), value], "array_contains", strings=False)
    if types.is_nested(kind):
        raise ExpressionError(f"array_contains does not compare {kind} here", code="unsupported")
    return emitter.call(_contains, [array, value], "boolean", nullable=True)


def _contains(array: list[Any], value: Any) -> bool | None:
    if value in array or (value != value and any(each != each for each in array)):
        return True
    return None if None in array else False


@register("named_struct(name, value, …) -> struct", "Of names and values in turn.", 0, None)
def _named_struct(emitter: Emitter, args: Sequence[Value]) -> Value:
    names, values = [arg.constant for arg in args[::2]], args[1::2]
    if len(args) % 2 or not all(isinstance(name, str) for name in names):
        raise ExpressionError("named_struct takes constant names and values in turn", code="unsupported")
    return struct(emitter, list(zip(names, values, strict=True)))


def struct(emitter: Emitter, fields: Sequence[tuple[str, Value]]) -> Value:
    if len({name for name, _ in fields}) < len(fields):
        raise ExpressionError("a struct has two fields of one name", code="unsupported", hint="name them with AS")
    items = ", ".join(f"{name!r}: {value.code}" for name, value in fields)
    return Value(f"{{{items}}}", types.struct_type((name, value.type) for name, value in fields), nullable=False)


@register("coalesce(value, …) -> common type", "The first that is not null.", 1, None)
def _coalesce(emitter: Emitter, args: Sequence[Value]) -> Value:
    return coalesce(emitter, args)


@register("nvl(value, otherwise) -> common type", "The value, or the other where it is null.", 2, aliases=["ifnull"])
def _nvl(emitter: Emitter, args: Sequence[Value]) -> Value:
    return coalesce(emitter, args)


@register("nullif(value, other) -> type of value", "Null where both are equal.", 2)
def _nullif(emitter: Emitter, args: Sequence[Value]) -> Value:
    return null_if(emitter, args[0], args[1])


@register("if(condition, then, otherwise) -> common type", "One or the other.", 3, aliases=["iff"])
def _if(emitter: Emitter, args: Sequence[Value]) -> Value:
    booleans(args[:1], "if")
    return choose(emitter, [(args[0], args[1])], args[2])


@register("isnull(value) -> boolean", "Whether it is null.", 1)
def _isnull(emitter: Emitter, args: Sequence[Value]) -> Value:
    return is_null(emitter, args[0])


@register("isnotnull(value) -> boolean", "Whether it is not null.", 1)
def _isnotnull(emitter: Emitter, args: Sequence[Value]) -> Value:
    return negation(emitter, is_null(emitter, args[0]))
