"""Columns of the row: found by name, read once at the start of the generated function; one that is missing is null.

A column (or a part of one, `a.b[0]`) whose type nobody declared is *open*: its type is that of the value in the row at hand.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import whorl.operators.expressions.types as types
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.types import UNKNOWN, VOID
from whorl.operators.expressions.value import Emitter, Value
from whorl.schema import Schema

Path = tuple[str | int, ...]
SIMPLE_TYPES: dict[type, str] = {
    type(None): VOID, bool: "boolean", int: "long", float: "double", str: "string", bytes: "binary",
    datetime: "timestamp", date: "date", Decimal: "decimal(38,18)",
}  # fmt: skip


def observed_type(value: Any) -> str:
    """The type of a value that nobody declared."""
    kind = SIMPLE_TYPES.get(value.__class__)
    if kind is not None:
        return kind
    if isinstance(value, dict):
        return types.struct_type((str(name), observed_type(each)) for name, each in value.items())
    if isinstance(value, list):
        element = types.common_of(map(observed_type, value), strings=False)
        if element is not None:
            return f"array<{element}>"
    raise ValueError(f"an expression cannot use a value such as {value!r}")


@dataclass
class Columns:
    schema: Schema | None
    observed: Mapping[Path, str] = field(default_factory=dict)
    """Types of open paths, where they are known by now."""
    loads: dict[str, str] = field(default_factory=dict)
    """Column to the local that holds it."""
    open: dict[Path, str] = field(default_factory=dict)
    """Open paths met, with the code that reads each."""

    def column(self, name: str) -> Value:
        found = self.find(name)
        local = self.loads.setdefault(found, f"c{len(self.loads)}")
        return Value(local, self.schema.type_of(found) if self.schema else UNKNOWN, simple=True)

    def find(self, name: str) -> str:
        """The column meant: the very name, or the one that differs in case only."""
        if self.schema is None or name in self.schema:
            return name
        alike = [each for each in self.schema.names if each.lower() == name.lower()]
        if len(alike) == 1:
            return alike[0]
        near = difflib.get_close_matches(name, self.schema.names, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"columns: {', '.join(self.schema.names) or 'none'}"
        raise ExpressionError(f"there is no column '{name}'", code="column", hint=hint)

    def open_path(self, emitter: Emitter, root: Value, path: Path) -> Value:
        """A column of undeclared type, or a part of it."""
        code = root.code if len(path) == 1 else f"{emitter.pooled(walk)}({root.code}, {path[1:]!r})"
        self.open[path] = code
        return Value(code, self.observed.get(path, UNKNOWN), simple=len(path) == 1)

    def prologue(self) -> str:
        """Statements that load the columns into locals."""
        if not self.loads:
            return ""
        direct = "; ".join(f"{local} = row[{name!r}]" for name, local in self.loads.items())
        lenient = "; ".join(f"{local} = row.get({name!r})" for name, local in self.loads.items())
        return f"    try:\n        {direct}\n    except KeyError:\n        {lenient}\n"


def walk(value: Any, steps: Path) -> Any:
    """A part of a value of undeclared type; what is missing is null, an index outside an array raises."""
    for step in steps:
        if value is None:
            return None
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            if not 0 <= step < len(value):
                raise IndexError(f"index {step} is outside an array of {len(value)}")
            value = value[step]
        else:
            raise ValueError(f"{value!r} has no part '{step}'")
    return value


def public_type(type: str) -> str:
    """As a schema may hold it: a bare NULL has no type there."""
    return re.sub(r"(?<![^<:,])void(?![^>,])", UNKNOWN, type)
