"""A pipeline as it is written, typed: what its sources, operators and sinks are, and which ends of edges they name.

Both forms of a pipeline file load to this. Ids hold no dot: `from: route.big` reads the output `big` of the operator
`route`. The options of operators stay as written; their types are known to `whorl.operators.registry`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from whorl.config.fields import Id, OnError, Topic
from whorl.config.sinks import SINKS as SIMPLE_SINKS
from whorl.config.sinks import ConsoleSink, FileSink, KafkaSink, ListSink, PythonSink, SinkOptions
from whorl.config.sources import SOURCES as SIMPLE_SOURCES
from whorl.config.sources import (
    FileSource,
    KafkaSource,
    ListSource,
    RateSource,
    SourceOptions,
    Start,
    Watermark,
)  # fmt: skip
from whorl.config.stores import STORE_SINKS, STORE_SOURCES
from whorl.config.tree import Key, Path
from whorl.errors import Location
from whorl.operators.operator import ErrorPolicy, Options, several

__all__ = [
    "SINKS", "SOURCES", "ConsoleSink", "FileSink", "FileSource", "KafkaSink", "KafkaSource", "Link", "ListSink",
    "ListSource", "Loop", "OperatorSpec", "PipelineSpec", "PythonSink", "RateSource", "SinkOptions", "SinkSpec", "SourceOptions", "SourceSpec", "Start", "Watermark",
]  # fmt: skip


SOURCES: dict[str, type[SourceOptions]] = SIMPLE_SOURCES | STORE_SOURCES
SINKS: dict[str, type[SinkOptions]] = SIMPLE_SINKS | STORE_SINKS
Combine = Literal["min", "max", "sum"]


class Link(Options):
    """One end of an edge: an id, `id.output`, or a map."""

    id: Id = Field(description="the operator, source or sink at the other end")
    output: str = Field(default="", description="which output of an operator that has several")
    via: Literal["memory", "topic"] = Field(default="memory", description="topic: even where memory would do")
    feedback: bool = Field(default=False, description="the edge closes a cycle on purpose")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if not isinstance(value, str | int) or isinstance(value, bool):
            return value
        id, _, output = str(value).partition(".")
        return {"id": id, "output": output}


Links = Annotated[tuple[Link, ...], BeforeValidator(several)]


class Named(Options):
    """What sources, operators and sinks have in common: identity, and their place in the file."""

    id: Id = Field(description="its identity for ever: topics, errors and metrics carry it")
    type: str = Field(description="what it does")
    path: Path = Field(default=(), exclude=True)
    at: Location | None = Field(default=None, exclude=True)


class SourceSpec(Named):
    options: SourceOptions | None = Field(default=None, description="None where they are wrong; the findings say why")
    to: Links = Field(default=(), description="who reads it; the other end may say so instead (`from`)")


class OperatorSpec(Named):
    from_: Links = Field(default=(), alias="from", description="what it reads: an id, `id.output`, or a list of them")
    to: Links = Field(default=(), description="who reads it; the other end may say so instead (`from`)")
    on_error: OnError = Field(
        default_factory=ErrorPolicy, description="what becomes of a record on which it fails: a word or a map"
    )
    isolate: bool = Field(default=False, description="runs in a component of its own")
    host: Literal["", "tasks", "query"] = Field(
        default="",
        description="tasks: long-running tasks; query: Structured Streaming; without it whichever fits, and its neighbours'",
    )
    publish: Topic | None = Field(
        default=None,
        description="a topic that always holds what it keeps for each key, as JSON; another pipeline may read it as a table",
    )
    max_rounds: int | None = Field(
        default=None,
        ge=1,
        description="of what reads a feedback edge: how often a record may go round; beyond it, it goes to the dead-letter topic",
    )
    combine: dict[str, Combine] | None = Field(
        default=None,
        description="of what reads a feedback edge: records to one key are merged before they are sent, by these columns: {label: min}",
    )
    supersteps: bool = Field(
        default=False,
        description="of what reads a feedback edge: a round begins when the one before it has ended everywhere",
    )
    on_runaway: Literal["warn", "stop"] = Field(
        default="warn",
        description="of what reads a feedback edge: what follows when there is ever more feedback",
    )
    options: dict[Key, Any] = Field(default_factory=dict, description="those of its type, as written")

    @property
    def loop(self) -> Loop:
        return Loop(self.max_rounds, tuple((self.combine or {}).items()), self.supersteps, self.on_runaway)


@dataclass(frozen=True)
class Loop:
    """What is said of a loop by the operator that reads its feedback edge."""

    max_rounds: int | None = None
    combine: tuple[tuple[str, Combine], ...] = ()
    """Columns by which records to one key are merged, and how."""
    supersteps: bool = False
    on_runaway: Literal["warn", "stop"] = "warn"


class SinkSpec(Named):
    options: SinkOptions | None = Field(default=None, description="None where they are wrong; the findings say why")
    from_: Links = Field(default=(), alias="from", description="what it writes: an id, `id.output`, or a list of them")


class PipelineSpec(Options):
    """A pipeline file, typed."""

    name: str = Field(description="the pipeline's name; without it the file's, or its folder's if that is `pipeline`")
    sources: tuple[SourceSpec, ...] = Field(default=(), description="where records come from, by id")
    operators: tuple[OperatorSpec, ...] = Field(default=(), description="what is done with them")
    sinks: tuple[SinkSpec, ...] = Field(default=(), description="where they go, by id")
    settings: dict[Key, Any] = Field(default_factory=dict, description="overrides those of whorl.yaml")
    file: str = Field(default="", description="where it was read")
    folder: str = Field(default="", description="where its code lies; without it beside the file")

    @property
    def home(self) -> str:
        """The folder in which imports of its code begin."""
        return os.path.abspath(self.folder or os.path.dirname(os.path.abspath(self.file)))

    @property
    def givers(self) -> tuple[SourceSpec | OperatorSpec, ...]:
        """What records leave."""
        return (*self.sources, *self.operators)

    @property
    def takers(self) -> tuple[OperatorSpec | SinkSpec, ...]:
        """What records enter."""
        return (*self.operators, *self.sinks)
