"""Types of the fields of sources, operators and sinks: what may be written, and what it becomes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, TypeAdapter

from whorl.config.codes import suggest
from whorl.config.validation import Problem
from whorl.formats import FORMATS, FormatOptions, parse_format
from whorl.operators.operator import ErrorPolicy
from whorl.schema import INFER, Schema, normal_type

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}$")


def _id(value: Any) -> Any:
    if type(value) is int:
        return str(value)
    if value == "":
        raise Problem("an id must not be empty", hint="give it a name")
    if isinstance(value, str) and "." in value:
        raise Problem(f"the id '{value}' has a dot", hint="a dot separates an operator from its output; use - or _")
    return value


def _topic(value: Any) -> Any:
    if isinstance(value, str) and (not _TOPIC.match(value) or value in (".", "..")):
        raise Problem(f"'{value}' is not a topic name", hint="use up to 249 letters, digits, '.', '_' and '-'")
    return value


def _policy(value: Any) -> Any:
    return {"action": value} if isinstance(value, str) else value


def _known_format(name: str) -> str:
    if name not in FORMATS:
        hint = suggest(name, set(FORMATS) - {"rows"}, "known formats")
        raise Problem(f"there is no format '{name}'", code="unknown-type", hint=hint)
    return name


class _FormatName(BaseModel):
    type: Annotated[str, AfterValidator(_known_format)]


def _format(value: Any) -> Any:
    if isinstance(value, FormatOptions) or value is None:
        return value
    _FormatName.model_validate({"type": value} if isinstance(value, str) else value)
    return parse_format(value)


def _schema(value: Any) -> Any:
    if value == "infer":
        return INFER
    if value is None or isinstance(value, Schema):
        return value
    if value == {}:
        raise Problem("it has no columns", hint="write {name: type, ...}, or leave it out")
    return Schema(tuple(_COLUMNS.validate_python(value).items()))


def _column_type(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return normal_type(value)
    except ValueError as error:
        raise Problem(str(error), hint="write a type of Spark: string, long, double, array<long>") from error


def _milliseconds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise Problem(f"'{value}' is not a time", hint="write 2026-01-31T12:00:00Z, or milliseconds") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


_COLUMNS = TypeAdapter(dict[str, Annotated[str, BeforeValidator(_column_type)]])
Id = Annotated[str, BeforeValidator(_id)]
Topic = Annotated[str, BeforeValidator(_topic)]
OnError = Annotated[ErrorPolicy, BeforeValidator(_policy)]
Format = Annotated[FormatOptions, BeforeValidator(_format)]
OptionalFormat = Annotated[FormatOptions | None, BeforeValidator(_format)]
OptionalSchema = Annotated[Schema | None, BeforeValidator(_schema)]
Moment = Annotated[int, BeforeValidator(_milliseconds)]
