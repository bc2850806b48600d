"""A descriptor set for tests, as `protoc --include_imports` would write it."""

from __future__ import annotations

import base64

from google.protobuf import timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

F = FieldDescriptorProto
STAMP, TEXT = ".google.protobuf.Timestamp", ".google.protobuf.StringValue"


def _field(
    message: DescriptorProto, name: str, type: int, of: str = "", repeated: bool = False
) -> FieldDescriptorProto:
    label = F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL
    return message.field.add(name=name, number=len(message.field) + 1, type=type, label=label, type_name=of or None)


def descriptor_set() -> bytes:
    """shop.Order, shop.Line and shop.Loop, which holds itself."""
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend([timestamp_pb2.DESCRIPTOR.name, wrappers_pb2.DESCRIPTOR.name])
    line = file.message_type.add(name="Line")
    _field(line, "item", F.TYPE_STRING)
    _field(line, "count", F.TYPE_INT32)
    order = file.message_type.add(name="Order")
    kind = order.enum_type.add(name="Kind")
    kind.value.add(name="WEB", number=0)
    kind.value.add(name="SHOP", number=1)
    _field(order, "id", F.TYPE_INT64)
    _field(order, "at", F.TYPE_MESSAGE, STAMP)
    _field(order, "kind", F.TYPE_ENUM, ".shop.Order.Kind")
    _field(order, "lines", F.TYPE_MESSAGE, ".shop.Line", repeated=True)
    _field(order, "note", F.TYPE_MESSAGE, TEXT)
    _field(order, "raw", F.TYPE_BYTES)
    _field(order, "big", F.TYPE_UINT64)
    _field(order, "paid", F.TYPE_DOUBLE)
    entry = order.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    _field(entry, "key", F.TYPE_STRING)
    _field(entry, "value", F.TYPE_INT32)
    _field(order, "tags", F.TYPE_MESSAGE, ".shop.Order.TagsEntry", repeated=True)
    loop = file.message_type.add(name="Loop")
    _field(loop, "inner", F.TYPE_MESSAGE, ".shop.Loop")
    files = FileDescriptorSet()
    for known in (timestamp_pb2, wrappers_pb2):
        known.DESCRIPTOR.CopyToProto(files.file.add())
    files.file.append(file)
    data: bytes = files.SerializeToString()
    return data


INLINED = "base64:" + base64.b64encode(descriptor_set()).decode()
