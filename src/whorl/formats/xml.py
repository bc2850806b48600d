"""xml: one element a record. Children are columns by their name, attributes by `_` and their name, repeated children arrays."""

from __future__ import annotations

import base64
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from whorl.errors import PipelineError
from whorl.formats.codec import Codec, Row
from whorl.formats.coerce import cell_converter
from whorl.formats.options import XmlFormat
from whorl.schema import Schema, split_top

_NAME = re.compile(r"[^\W\d][\w.\-]*")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ATTRIBUTE = "_"
_TEXT = "_VALUE"
"""The text of an element that has attributes or children too, as Spark calls it."""


def xml_codec(options: XmlFormat, schema: Schema | None) -> Codec:
    def decode(data: bytes | None) -> Row | None:
        if data is None:
            return None
        if schema is None:
            hint = "give the source a `schema: {column: type, ...}`"
            raise PipelineError("format xml does not know its columns", code="format", hint=hint)
        return {name: _of_column(element, name, kind) for element in [_parsed(data)] for name, kind in schema}

    def encode(row: Row) -> bytes:
        element = Element(options.row_tag)
        for name, value in row.items():
            try:
                _put(element, name, value)
            except ValueError as error:
                raise ValueError(f"column '{name}': {error}") from None
        data: bytes = ElementTree.tostring(element, encoding="utf-8")
        return data

    return Codec(decode, encode)


def _parsed(data: bytes) -> Element:
    try:
        return ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise ValueError(f"the value is not XML: {error}") from None


def _of_column(element: Element, name: str, kind: str) -> Any:
    try:
        return _of(element, name, kind)
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"column '{name}': {error}") from None


def _of(element: Element, name: str, kind: str) -> Any:
    """What an element holds under a name: a text of its own, an attribute, a child, or all children of that name."""
    if name == _TEXT:
        return _text((element.text or "").strip(), kind)
    children = [child for child in element if _local(child.tag) == name]
    if kind.startswith("array<"):
        return [_value(child, kind[len("array<") : -1]) for child in children] if children else None
    if len(children) > 1:
        raise ValueError(f"there are {len(children)} elements '{name}', and it is no array")
    if children:
        return _value(children[0], kind)
    attribute = element.get(name.removeprefix(_ATTRIBUTE)) if name.startswith(_ATTRIBUTE) else None
    return None if attribute is None else _text(attribute, kind)


def _value(element: Element, kind: str) -> Any:
    if kind.startswith("struct<"):
        fields = (part.partition(":") for part in split_top(kind[len("struct<") : -1]))
        return {name: _of(element, name, inner) for name, _, inner in fields}
    if kind.startswith("map<"):
        _, inner = split_top(kind[len("map<") : -1])
        return {_local(child.tag): _value(child, inner) for child in element}
    if len(element):
        raise ValueError(f"'{_local(element.tag)}' has elements of its own and is no {kind}")
    return _text(element.text or "", kind)


def _text(text: str, kind: str) -> Any:
    if kind in ("string", "unknown"):
        return text
    convert = cell_converter(kind)
    return None if not text.strip() else convert(text.strip()) if convert else text


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _put(element: Element, name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, list | tuple):
        for each in value:
            _put(element, name, each)
    elif name == _TEXT:
        element.text = _written(value)
    elif name.startswith(_ATTRIBUTE) and not isinstance(value, dict):
        element.set(_name(name.removeprefix(_ATTRIBUTE)), _written(value))
    else:
        _put_child(ElementTree.SubElement(element, _name(name)), value)


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of an element or attribute of XML")
    return name


def _put_child(child: Element, value: Any) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _put(child, str(name), each)
    else:
        child.text = _written(value)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    text = base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
    if odd := _NOT_XML.search(text):
        raise ValueError(f"the character {odd[0]!r} cannot be written in XML")
    return text
