"""What every operator type offers: typed options, the columns that leave it, and the step that the host runs.

Building an operator runs no user code beyond importing it. A step is made on the executor, once per task.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from whorl.operators.keyed_step import KeyedStep
from whorl.operators.native import Native
from whorl.schema import Schema
from whorl.units import Duration


class Shape(Enum):
    """How a step is called, and so how the host wires it."""

    PASS = "pass"  # call is not used
    MAP = "map"  # call(row) -> row
    FILTER = "filter"  # call(row) -> True to keep; None and False drop
    FLAT_MAP = "flat_map"  # call(row) -> iterable of rows
    BRANCH = "branch"  # call(row) -> name of the output, or None to drop
    KEY = "key"  # call(row) -> key bytes or None; the row stays
    CALL = "call"  # call(row) -> None | row | Record | iterable of rows and Records
    EACH = "each"  # call(row, metadata) -> the same
    BULK = "bulk"  # call([row], [metadata]) -> one such result for each row
    KEYED = "keyed"  # has state by key; `keyed` makes what is called
    FOLD = "fold"  # as KEYED, where call(row, metadata) -> row


@dataclass(frozen=True, slots=True)
class Step:
    shape: Shape
    call: Callable[..., Any]
    open: Callable[[], None] | None = None
    close: Callable[[], None] | None = None
    keyed: Callable[[str], KeyedStep] | None = None
    """Of an operator with state: by its id, which names what it keeps."""


def several(value: Any) -> Any:
    """One is a list of one."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


Columns = Annotated[tuple[str, ...], BeforeValidator(several)]
"""The names of one column, or of several."""


class Options(BaseModel):
    """Base of all option models: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class ErrorPolicy(Options):
    """What becomes of a record that fails."""

    action: Literal["fail", "skip", "dead_letter", "retry"] = Field(
        "dead_letter", description="fail the job, skip the record, send it to the dead-letter topic, or try it again"
    )
    attempts: int = Field(3, ge=1, description="with retry: how often in all")
    backoff: Duration = Field(1.0, description="with retry: the wait before the second attempt; doubles each time")
    then: Literal["fail", "skip", "dead_letter"] = Field(
        "dead_letter", description="with retry: what follows the last attempt"
    )


@dataclass(frozen=True, slots=True)
class Upstream:
    """What an operator reads, as SQL may name it: the id, or `id_output` of an operator with several outputs."""

    table: str
    schema: Schema | None = None
    is_table: bool = False
    """No stream: rows to look up by the key of state."""
    time: str = ""
    """Its column of event time, where a source before it has a watermark."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What an operator finds wrong with itself at its place in a graph."""

    path: tuple[str | int, ...]
    """Of the option that is wrong."""
    code: str
    message: str
    hint: str
    offset: int | None = None
    """Of the character in the option's text, where that tells more."""
    meant: str = ""
    """A word that should be an id: the hint is then the nearest one."""


class OperatorType(ABC):
    """One operator of a pipeline: the class is its type, the instance its options."""

    type: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[builtins.type[Options]] = Options
    looks_inside: ClassVar[bool] = True
    """Whether it reads the row at all; where nothing does, records pass undecoded."""
    changes_key: bool = False
    """Whether a record may leave with another key."""
    keeps_record: ClassVar[bool] = False
    """Whether what leaves it are records as they came: some may be missing, none is changed."""
    in_tasks: bool = True
    """Whether it has a step; what has none runs in a query alone."""
    of_queries: str = ""
    """Why it has no step, where others of its type have one."""
    version: int = 1
    """Of what it keeps."""
    migrates: bool = False
    """Whether it can read what earlier versions of it have kept."""
    loops: bool = False
    """Whether it reads what it sends to its output `loop`; the graph then has that edge, and nobody writes it."""
    anywhere: bool = False
    """Whether it keeps state by key and yet takes any record in any logical partition: nothing is sorted before it."""
    upstreams: tuple[Upstream, ...] = ()
    """What it reads, in the order written; known once it has its place in a graph."""

    def __init__(self, options: Any) -> None:
        self.options = options

    def reading(self, upstreams: Sequence[Upstream]) -> Self:
        """The same operator at its place in a graph."""
        placed = copy(self)
        placed.upstreams = tuple(upstreams)
        return placed

    @abstractmethod
    def step(self, schema: Schema | None) -> Step:
        """The step for rows of this schema (None: not known)."""

    def native(self, schema: Schema | None) -> Native | None:
        """What it is to Spark for rows of this schema; None where it runs in tasks alone."""
        return None

    def not_in_query(self) -> tuple[str, str] | None:
        """Why a query cannot run it, whatever its columns are, and what to do; None: it can, or the columns say why not."""
        return None

    def output(self, schema: Schema | None) -> Schema | None:
        """The columns that leave it, given those that enter."""
        return schema

    def outputs(self) -> tuple[str, ...]:
        """Names of its outputs where it has more than the one; `from: id.name` reads one."""
        return ()

    def keyed_by(self) -> tuple[str, ...] | None:
        """The columns by which it keeps state: all rows with the same values there come to the same task, in order. No columns: by the
        record's own key. None: it keeps none."""
        return None

    def states(self, schema: Schema | None) -> tuple[str, ...]:
        """The names of what it keeps, given the columns that enter it, as tables have them."""
        return ()

    def expressions(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        """(path inside the options, SQL) of every expression, for check."""
        return ()

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        """(path inside the options, column) of every column that must exist, for check."""
        return ()

    def import_paths(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        """(path inside the options, import path) of every piece of user code, for check."""
        return ()

    def faults(self) -> Iterable[Fault]:
        """What else is wrong with it, given what it reads (`upstreams`), for check."""
        return ()


def not_with_state(upstreams: Sequence[Upstream]) -> tuple[str, str] | None:
    """`OperatorType.not_in_query` of an operator with state."""
    tables = [upstream.table for upstream in upstreams if upstream.is_table]
    if tables:
        return f"it looks into the table '{tables[0]}', which only tasks have at hand", "take `host` away"
    if len({upstream.schema for upstream in upstreams}) > 1:
        hint = "select the same columns before it, or take `host` away"
        return "its inputs have different columns, which a query would give to all rows", hint
    return None
