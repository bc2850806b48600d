"""Pydantic models as Markdown tables: option, what may be written, default, meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from whorl.formats import FORMATS
from whorl.schema import Schema
from whorl.units import format_duration, format_size

_PLAIN = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Any: "anything",
    Schema: "{column: type}",
}
_VALIDATED = {
    "_duration": "duration",
    "parse_size": "size",
    "_id": "id",
    "_topic": "topic name",
    "_policy": "word or map, see [on_error](#when-a-record-fails)",
    "_format": "word or map, see [formats](#formats)",
    "_milliseconds": "time",
    "_start_from": "`offsets+URL`",
    "_name": "text",
    "_folder": "path",
    "_trigger": "`fast`, `realtime` or a duration",
    "_mode": "`client`",
    "_engine": "`spark`",
    "normal_type": "[type](#types)",
}
"""What a validator makes of its field, by the validator's name."""
_BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}"}


def table(model: type[BaseModel], *, without: Iterable[str] = (), notes: Mapping[str, str] | None = None) -> str:
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    rows = [
        _row(name, field, (notes or {}).get(name, "")) for name, field in fields.items() if name not in set(without)
    ]
    return markdown(("key", "value", "default", "meaning"), rows) if rows else ""


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


def _row(name: str, field: FieldInfo, note: str) -> tuple[str, str, str, str]:
    meaning = (field.description or "") + (f" ({note})" if note else "")
    return f"`{name}`", value_of(field), default_of(field), meaning


def value_of(field: FieldInfo) -> str:
    words = {getattr(item.func, "__name__", "") for item in field.metadata if hasattr(item, "func")}
    known = [word for name, word in _VALIDATED.items() if name in words]
    told = known[0] if known else written(field.annotation)
    if "several" in words:
        told = f"{_single(told)}, or a list"
    limits = [
        text.format(getattr(item, name))
        for item in field.metadata
        for name, text in _BOUNDS.items()
        if hasattr(item, name)
    ]
    return " ".join([told, *limits])


def _single(listed: str) -> str:
    return listed.removeprefix("list of ")


def written(kind: Any) -> str:
    """What may be written where this type is wanted."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        named = [
            _VALIDATED[name]
            for item in parts[1:]
            if (name := getattr(getattr(item, "func", None), "__name__", "")) in _VALIDATED
        ]
        return named[0] if named else written(parts[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(written(part) for part in parts if part is not NoneType))
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts if part != "")
    if origin in (tuple, list):
        return f"list of {written(parts[0])}"
    if origin is dict:
        return f"{{{written(parts[0])}: {written(parts[1])}}}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "word or map" if hasattr(kind, "_short") else "map"
    return _PLAIN[kind]


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}, [], ""):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    words = {getattr(item.func, "__name__", "") for item in field.metadata if hasattr(item, "func")}
    if "_duration" in words:
        return f"`{format_duration(value)}`"
    if "parse_size" in words:
        return f"`{format_size(value)}`"
    return f"`{_shown(value)}`"


def _shown(value: Any) -> str:
    """The first field of a model stands for the whole, as it does in the short spelling."""
    if type(value) in FORMATS.values():
        return str(value.type)
    if isinstance(value, BaseModel):
        return str(getattr(value, next(iter(type(value).model_fields))))
    return str(value)
