"""Writes src/whorl/pipelines/methods.py: a method with a signature for each operator, source and sink that Whorl brings."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from whorl.config.spec import SINKS, SOURCES
from whorl.formats import FormatOptions
from whorl.operators.builtin import BUILTIN
from whorl.schema import Schema

_HEAD = '''\
"""A method for each operator, source and sink, with its options. Written by `python -m docs.generate`; change the models, not this module."""

# fmt: off
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypedDict, Unpack, overload

from whorl.pipelines.builder import Builder, Code, Common, Duration, Edges, OnError, Size
'''
_VALIDATED = {"_duration": "Duration", "parse_size": "Size", "_policy": "OnError", "_format": "str | Mapping[str, Any]"}
_CODE = ("function", "class")


def module() -> str:
    return "\n".join([_HEAD, *_ends("Source", SOURCES), *_ends("Sink", SINKS), *_methods()]) + "\n"


def _methods() -> Iterator[str]:
    yield "\nclass Methods(Builder):"
    yield '    """Each adds one part and gives the pipeline back, so that calls can be chained."""'
    for what, models in (("source", SOURCES), ("sink", SINKS)):
        yield from _end_method(what, models)
    for operator in BUILTIN:
        yield from _operator(operator.type, operator.summary, operator.Options)


def _ends(what: str, models: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    for name, model in models.items():
        yield f"\nclass {_class(name, what)}(TypedDict, total=False):"
        yield f'    """Options of a {name} {what.lower()}."""\n'
        yield f"    {'to' if what == 'Source' else 'from_'}: Edges"
        yield from (f"    {_name(key)}: {_hint(key, field)}" for key, field in _fields(model))


def _class(name: str, what: str) -> str:
    return "".join(part.title() for part in name.split("_")) + what


def _end_method(what: str, models: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    for index, name in enumerate(models):
        default = ' = "kafka"' if index == 0 else ""
        options = f"**options: Unpack[{_class(name, what.title())}]"
        yield f'\n    @overload\n    def {what}(self, id: str, *, type: Literal["{name}"]{default}, {options}) -> Self: ...'
    yield f'\n    def {what}(self, id: str, *, type: str = "kafka", **options: Any) -> Self:'
    yield f'        """A {what}: {", ".join(models)}."""'
    yield f'        return self._end("{what}s", id, {{"type": type, **options}})'


def _operator(type: str, summary: str, model: type[BaseModel]) -> Iterator[str]:
    fields = sorted(_fields(model), key=lambda pair: not pair[1].is_required())
    given = [
        f"{_name(key)}: {_hint(key, field)}{'' if field.is_required() else ' | None = None'}" for key, field in fields
    ]
    options = ", ".join(f'"{key}": {_name(key)}' for key, _ in fields)
    star = "*, " if given else ""
    yield f'\n    def {type}(self, id: str = "", {star}{"".join(f"{each}, " for each in given)}**common: Unpack[Common]) -> Self:'
    yield f'        """{summary}"""'
    yield f'        return self._operator("{type}", id, {{{options}}}, common)'


def _fields(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    return [(field.alias or name, field) for name, field in model.model_fields.items() if name != "type"]


def _name(key: str) -> str:
    return f"{key}_" if keyword.iskeyword(key) else key


def _hint(key: str, field: FieldInfo) -> str:
    if key in _CODE:
        return "Code"
    words = [getattr(getattr(item, "func", None), "__name__", "") for item in field.metadata]
    known = next((_VALIDATED[word] for word in words if word in _VALIDATED), "")
    parts = (known or _written(field.annotation)).split(" | ")
    return " | ".join(dict.fromkeys(["str", *parts] if "several" in words else parts))


def _written(kind: Any) -> str:
    """What may be given where this type is wanted."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        words = [getattr(getattr(item, "func", None), "__name__", "") for item in parts[1:]]
        return next((_VALIDATED[word] for word in words if word in _VALIDATED), _written(parts[0]))
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(_written(part) for part in parts if part is not NoneType))
    if origin is Literal:
        return f"Literal[{', '.join(repr(part).replace(chr(39), chr(34)) for part in parts)}]"
    if origin in (tuple, list):
        return f"Sequence[{_written(parts[0])}]"
    if origin is dict:
        return f"Mapping[{_written(parts[0])}, {_written(parts[1])}]"
    if kind is Schema:
        return 'Mapping[str, str] | Literal["infer"]'
    if isinstance(kind, type) and issubclass(kind, FormatOptions):
        return "str | Mapping[str, Any]"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "str | Mapping[str, Any]" if hasattr(kind, "_short") else "Mapping[str, Any]"
    return "Any" if kind is Any else str(kind.__name__)
