"""What has changed since a schema was pinned: columns that are new, and columns whose values are of another type now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from whorl.schema import UNKNOWN, Schema
from whorl.schemas.observe import Inferred

_HOLDS = {
    "string": None,  # anything
    "double": {"long", "double"},
    "float": {"long", "double"},
    "long": {"long"},
    "int": {"long"},
    "timestamp": {"timestamp", "date", "long"},
    "date": {"date"},
    "boolean": {"boolean"},
    "binary": {"string", "date", "timestamp"},
}


@dataclass(frozen=True)
class Drift:
    kind: Literal["new", "changed"]
    column: str
    type: str
    """That of the values seen now."""
    was: str = ""

    def __str__(self) -> str:
        if self.kind == "new":
            return f"new column '{self.column}' {self.type}"
        return f"column '{self.column}' is {self.type} now, it was {self.was}"


def drifts(pinned: Schema, now: Inferred) -> Iterator[Drift]:
    """A column that is missing is no drift: it is null."""
    for column in now.columns:
        if column.name not in pinned:
            yield Drift("new", column.name, column.type)
        elif column.sure and not _holds(pinned.type_of(column.name), column.type):
            yield Drift("changed", column.name, column.type, pinned.type_of(column.name))


def widened(pinned: Schema, found: Iterator[Drift] | list[Drift]) -> Schema:
    """With the columns that are new, behind the others."""
    return Schema((*pinned.columns, *((drift.column, drift.type) for drift in found if drift.kind == "new")))


def _holds(pinned: str, seen: str) -> bool:
    """Whether a column of the pinned type takes values that look like the other."""
    if pinned in (seen, UNKNOWN):
        return True
    outer = pinned.partition("<")[0].partition("(")[0]
    if outer == "decimal":
        return seen in ("long", "double") or seen.startswith("decimal")
    if outer in ("array", "struct"):
        return seen.startswith(outer)
    if outer == "map":
        return seen.startswith("struct")
    known = _HOLDS.get(outer, set())
    return known is None or seen in known
