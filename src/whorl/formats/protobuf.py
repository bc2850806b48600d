"""protobuf: one message a record, by a descriptor set that `protoc` has written. What is not set and can be told from a default is null."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from whorl.errors import PipelineError
from whorl.formats.codec import Codec, Row
from whorl.formats.options import INLINE, ProtobufFormat
from whorl.schema import Schema

_STAMP = "google.protobuf.Timestamp"
_Field = FieldDescriptor
_TYPES = {
    _Field.CPPTYPE_INT32: "int", _Field.CPPTYPE_INT64: "long", _Field.CPPTYPE_UINT32: "long",
    _Field.CPPTYPE_UINT64: "decimal(20,0)", _Field.CPPTYPE_DOUBLE: "double", _Field.CPPTYPE_FLOAT: "float",
    _Field.CPPTYPE_BOOL: "boolean", _Field.CPPTYPE_ENUM: "string",
}  # fmt: skip


def inline(path: Path) -> str:
    """A descriptor set as text that goes along with the pipeline."""
    return INLINE + base64.b64encode(path.read_bytes()).decode()


def protobuf_codec(options: ProtobufFormat) -> Codec:
    kind = _descriptor(options)
    message_class = GetMessageClass(kind)

    def decode(data: bytes | None) -> Row | None:
        if data is None:
            return None
        try:
            message = message_class.FromString(data)
        except DecodeError as error:
            raise ValueError(f"the value is not a {options.message}: {error}") from None
        return _row(message)

    def encode(row: Row) -> bytes:
        message = message_class()
        _fill(message, row)
        data: bytes = message.SerializeToString(deterministic=True)
        return data

    return Codec(decode, encode)


def protobuf_columns(options: ProtobufFormat) -> Schema:
    kind = _descriptor(options)
    return Schema(tuple((field.name, _type_of(field, (kind.full_name,))) for field in kind.fields))


# -- types ----------------------------------------------------------------------------------------------------------------------------


@cache
def _descriptor(options: ProtobufFormat) -> Descriptor:
    pool = DescriptorPool()
    try:
        for file in FileDescriptorSet.FromString(_bytes(options.descriptor)).file:
            pool.Add(file)
        return pool.FindMessageTypeByName(options.message)
    except OSError as error:
        why = f"the descriptor set '{options.descriptor}' cannot be read: {error.strerror}"
    except KeyError:
        why = f"the descriptor set has no message '{options.message}'"
    except (DecodeError, TypeError, ValueError, binascii.Error) as error:
        why = f"the descriptor set is wrong: {error}"
    hint = (
        "make it with `protoc --include_imports --descriptor_set_out=FILE`, and name the message in full: package.Name"
    )
    raise PipelineError(why, hint=hint, code="format")


def _bytes(descriptor: str) -> bytes:
    if descriptor.startswith(INLINE):
        return base64.b64decode(descriptor.removeprefix(INLINE), validate=True)
    return Path(descriptor).read_bytes()


def _type_of(field: FieldDescriptor, above: tuple[str, ...]) -> str:
    if _is_map(field):
        key, value = (_single_type(field.message_type.fields_by_name[name], above) for name in ("key", "value"))
        return f"map<{key},{value}>"
    kind = _single_type(field, above)
    return f"array<{kind}>" if field.is_repeated else kind


def _single_type(field: FieldDescriptor, above: tuple[str, ...]) -> str:
    if field.cpp_type == _Field.CPPTYPE_STRING:
        return "binary" if field.type == _Field.TYPE_BYTES else "string"
    if field.cpp_type != _Field.CPPTYPE_MESSAGE:
        return _TYPES[field.cpp_type]
    inner = field.message_type
    if inner.full_name == _STAMP:
        return "timestamp"
    if _is_wrapper(inner):
        return _single_type(inner.fields_by_name["value"], above)
    if inner.full_name in above:
        message = f"the message '{inner.full_name}' holds itself, and rows have no such type"
        raise PipelineError(message, hint="read it as bytes, and decode it in Python", code="format")
    parts = (f"{each.name}:{_type_of(each, (*above, inner.full_name))}" for each in inner.fields)
    return f"struct<{','.join(parts)}>"


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _is_wrapper(kind: Descriptor) -> bool:
    return kind.full_name.startswith("google.protobuf.") and kind.full_name.endswith("Value") and len(kind.fields) == 1


# -- from a message to a row ----------------------------------------------------------------------------------------------------------


def _row(message: Message) -> Row:
    return {field.name: _value(message, field) for field in message.DESCRIPTOR.fields}


def _value(message: Message, field: FieldDescriptor) -> Any:
    found = getattr(message, field.name)
    if _is_map(field):
        inner = field.message_type.fields_by_name["value"]
        return {key: _single(found[key], inner) for key in found}
    if field.is_repeated:
        return [_single(each, field) for each in found]
    return None if field.has_presence and not message.HasField(field.name) else _single(found, field)


def _single(value: Any, field: FieldDescriptor) -> Any:
    if field.cpp_type == _Field.CPPTYPE_ENUM:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named else str(value)
    if field.cpp_type == _Field.CPPTYPE_UINT64:
        return Decimal(value)
    if field.cpp_type != _Field.CPPTYPE_MESSAGE:
        return value
    if field.message_type.full_name == _STAMP:
        return value.ToDatetime(tzinfo=UTC)
    if _is_wrapper(field.message_type):
        return _single(value.value, field.message_type.fields_by_name["value"])
    return _row(value)


# -- from a row to a message ----------------------------------------------------------------------------------------------------------


def _fill(message: Message, row: Row) -> None:
    for field in message.DESCRIPTOR.fields:
        value = row.get(field.name)
        if value is not None:
            try:
                _set(message, field, value)
            except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
                raise ValueError(f"column '{field.name}' does not fit {field.full_name}: {error}") from None


def _set(message: Message, field: FieldDescriptor, value: Any) -> None:
    target = getattr(message, field.name)
    if _is_map(field):
        inner = field.message_type.fields_by_name["value"]
        for key, each in value.items():
            if inner.cpp_type == _Field.CPPTYPE_MESSAGE:
                _set_message(target[key], each)
            else:
                target[key] = _plain(each, inner)
    elif field.is_repeated:
        for each in value:
            if field.cpp_type == _Field.CPPTYPE_MESSAGE:
                _set_message(target.add(), each)
            else:
                target.append(_plain(each, field))
    elif field.cpp_type == _Field.CPPTYPE_MESSAGE:
        target.SetInParent()
        _set_message(target, value)
    else:
        setattr(message, field.name, _plain(value, field))


def _set_message(message: Message, value: Any) -> None:
    kind = message.DESCRIPTOR
    if kind.full_name == _STAMP:
        _stamp(message, value)
    elif _is_wrapper(kind):
        setattr(message, "value", _plain(value, kind.fields_by_name["value"]))  # noqa: B010
    else:
        _fill(message, value)


def _stamp(message: Any, value: datetime) -> None:
    message.FromDatetime(value)


_NUMBERS: dict[int, Callable[[Any], Any]] = {
    _Field.CPPTYPE_UINT64: int, _Field.CPPTYPE_DOUBLE: float, _Field.CPPTYPE_FLOAT: float,
}  # fmt: skip


def _plain(value: Any, field: FieldDescriptor) -> Any:
    if field.cpp_type == _Field.CPPTYPE_ENUM:
        known = field.enum_type.values_by_name.get(value)
        if known is None:
            raise ValueError(f"'{value}' is none of {', '.join(field.enum_type.values_by_name)}")
        return known.number
    return _NUMBERS.get(field.cpp_type, _same)(value)


def _same(value: Any) -> Any:
    return value
