"""json: an object a record.

With a schema, decoding is a function generated for its columns: a value of the right class passes without a call. NaN and infinity
are written as null, decimals as numbers with all their digits, binary in base64, times in ISO.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import orjson

from whorl.formats.codec import Codec, Decode, Row
from whorl.formats.coerce import converter
from whorl.schema import Schema

_PASS_AS_IS = {"string": "str", "double": "float", "boolean": "bool"}
_OPTIONS = orjson.OPT_UTC_Z
_ODD_KEYS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


def json_codec(schema: Schema | None, strict: bool = False) -> Codec:
    return Codec(_any_object if schema is None else _decoder(schema, strict), encode)


def encode(row: Row) -> bytes:
    try:
        return orjson.dumps(row, _other, _OPTIONS)
    except TypeError as error:
        return _encode_odd(row, error)


def _encode_odd(row: Row, error: TypeError) -> bytes:
    """Keys that are not strings are rare, and looking for them costs."""
    try:
        return orjson.dumps(row, _other, _ODD_KEYS)
    except TypeError:
        raise ValueError(f"the row cannot be written as JSON: {_reason(error)}") from None


def _reason(error: TypeError) -> str:
    return str(error.__cause__ or error)


def _other(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f")) if value.is_finite() else None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{value!r} of type {type(value).__name__} has no JSON form")


def parse(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the value is not JSON: {error}") from None


def _any_object(data: bytes | None) -> Row | None:
    if data is None:
        return None
    found = parse(data)
    if found.__class__ is dict:
        return found
    raise not_an_object(found)


def not_an_object(found: Any) -> ValueError:
    text = repr(found)
    return ValueError(f"the value is JSON but not an object: {text if len(text) <= 80 else text[:77] + '...'}")


def _new_column(found: Row, known: frozenset[str]) -> ValueError:
    name = next(name for name in found if name not in known)
    return ValueError(f"column '{name}' is new: it is not in the schema")


def _decoder(schema: Schema, strict: bool) -> Decode:
    scope: dict[str, Any] = {"parse": parse, "not_an_object": not_an_object}
    lines = ["def decode(data):", "    if data is None:", "        return None", "    found = parse(data)"]
    lines += ["    if found.__class__ is not dict:", "        raise not_an_object(found)", "    get = found.get"]
    if strict:
        scope |= {"known": frozenset(schema.names), "new_column": _new_column}
        lines += ["    if not known.issuperset(found):", "        raise new_column(found, known)"]
    for index, (name, kind) in enumerate(schema):
        lines.append(f"    v{index} = get({name!r})")
        convert = converter(kind)
        if convert is not None:
            scope[f"convert{index}"] = _naming(name, convert)
            lines.append(f"    if {_needs_care(kind, f'v{index}')}:\n        v{index} = convert{index}(v{index})")
    items = ", ".join(f"{name!r}: v{index}" for index, name in enumerate(schema.names))
    exec(compile("\n".join([*lines, f"    return {{{items}}}"]), "<json decoder>", "exec"), scope)
    function: Decode = scope["decode"]
    return function


def _needs_care(kind: str, local: str) -> str:
    fine = _PASS_AS_IS.get(kind)
    return f"{local}.__class__ is not {fine} and {local} is not None" if fine else f"{local} is not None"


def _naming(column: str, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def named(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"column '{column}': {error}") from None

    return named
