"""What an operator is to Spark itself: a few kinds of plain data, which `whorl.query` turns into one Structured Streaming query.

Row kinds (`Pass` to `Rules`) work on one row at a time, so a record's key, timestamp and headers stay with it, as they do with `Keyed`.
What the others make has none: a sink that wants a key names its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Pass:
    """Rows as they are; several inputs are brought together by column name."""


@dataclass(frozen=True)
class Where:
    condition: str


@dataclass(frozen=True)
class Project:
    """Exactly these columns, in this order: (name, SQL)."""

    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Select:
    """A SELECT of one row at a time: what passes the condition (None: every row), and exactly these columns of it."""

    condition: str | None
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Explode:
    """A row for each element, in the column `name`: in the place of one that has this name, else behind the others."""

    array: str
    name: str
    outer: bool = False


@dataclass(frozen=True)
class Sort:
    """The rows of each partition of a batch by these columns: (name, whether the largest comes first); nulls last."""

    columns: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Rekey:
    """A new key: one value as text, several as a JSON array."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class Route:
    """`choice` is SQL that names the output a row goes to, or is null."""

    choice: str


@dataclass(frozen=True)
class Rules:
    """(name, condition): a row for which one is not true goes the way of `on_error`."""

    rules: tuple[tuple[str, str], ...]

    @staticmethod
    def broken(name: str, condition: str) -> str:
        """What is said of a row that breaks one."""
        return f"rule '{name}' is not kept: {condition}"


@dataclass(frozen=True)
class Query:
    """SQL statements over the upstream ids; the last gives the rows."""

    statements: tuple[str, ...]
    udfs: tuple[tuple[str, str, str], ...] = ()
    """(name, import path, type)."""
    tables: tuple[str, ...] = ()
    """What it reads: an upstream id, `id_output`, or `input` where it has one input; empty where that could not be told."""
    watermark: tuple[str, float] | None = None
    """(column, delay in seconds) for inputs that have none of their own."""
    mode: Literal["", "append", "update"] = ""
    """The output mode that the pipeline asks for, if any."""
    aggregates: bool = False
    windowed: bool = False
    """It aggregates by windows of time."""
    joins: bool = False


@dataclass(frozen=True)
class Unique:
    """One row of each value of these columns (none: of the whole row)."""

    columns: tuple[str, ...] = ()
    within_watermark: bool = False
    """Values are forgotten once the watermark has passed them."""
    narrow: bool = False
    """Only these columns leave."""


@dataclass(frozen=True)
class Call:
    """User code, row by row, with the columns it declares to return."""


@dataclass(frozen=True)
class Keyed:
    """Keeps state by these columns, or, without any, by the record's own key. What leaves carries the record that it came from."""

    key: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    """Their names, where it has several."""


Native = Pass | Where | Project | Select | Explode | Sort | Rekey | Route | Rules | Query | Unique | Keyed | Call
ROW_BY_ROW = (Pass, Where, Project, Select, Explode, Sort, Rekey, Route, Rules)


def goes_by_output(native: Native | None) -> bool:
    """Whether each of its rows goes to one of several outputs."""
    return isinstance(native, Route) or (isinstance(native, Keyed) and bool(native.outputs))
