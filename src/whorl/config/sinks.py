"""The options of sinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from whorl.config.fields import OnError, OptionalFormat, Topic
from whorl.config.files import FileOptions
from whorl.config.tree import Path
from whorl.config.validation import Problem
from whorl.operators.operator import Columns, ErrorPolicy, Options
from whorl.schema import UNKNOWN, Schema
from whorl.units import Duration

_NESTED = ("array", "map", "struct", "binary")


class SinkOptions(Options):
    """What all sinks have."""

    type: str
    in_query: ClassVar[bool] = False
    """Whether only queries write it, and each as its only output."""

    @property
    def takes_changes(self) -> bool:
        """Whether a row that was written may be written again, changed."""
        return not self.in_query

    @property
    def place(self) -> str:
        """Where it is, of those that only queries write."""
        return str(getattr(self, "path", ""))

    @property
    def told(self) -> str:
        """What it writes, in a few words, where that is no topic."""
        return f"{self.type} sink"

    @property
    def guarantee(self) -> str:
        """How often a row arrives, and by what means, where a query is the only one to write there."""
        return ""

    def unfit(self, schema: Schema) -> Iterator[tuple[str, str]]:
        """(what is wrong, what to do) with columns that it cannot hold."""
        return iter(())

    def columns(self) -> tuple[tuple[Path, str], ...]:
        """(path inside the options, column) of every column that must exist."""
        return ()


class KafkaSink(SinkOptions):
    """Writes a Kafka topic."""

    type: Literal["kafka"] = "kafka"
    topic: Topic = Field(description="the topic")
    key: Columns = Field(
        default=(), description="the column or columns of the Kafka key; without it records keep theirs"
    )
    format: OptionalFormat = Field(
        default=None, description="how values are written; without it json, or text or bytes where rows are only that"
    )
    headers: bool = Field(default=True, description="records keep their headers")

    def columns(self) -> tuple[tuple[Path, str], ...]:
        return tuple((("key", index), name) for index, name in enumerate(self.key))


class FileSink(FileOptions, SinkOptions):
    """Writes files into a folder, each row once and for good: what a query would still change does not go here."""

    type: Literal["file"] = "file"
    in_query: ClassVar[bool] = True
    partition_by: Columns = Field(default=(), description="the column or columns that become folders: country=NL/…")

    def columns(self) -> tuple[tuple[Path, str], ...]:
        return tuple((("partition_by", index), name) for index, name in enumerate(self.partition_by))

    @property
    def told(self) -> str:
        return f"folder '{self.path}', {self.format} files"

    @property
    def guarantee(self) -> str:
        return "exactly once, by the log of Spark's file sink"

    def unfit(self, schema: Schema) -> Iterator[tuple[str, str]]:
        written = [(name, kind) for name, kind in schema if name not in self.partition_by]
        if not written:
            yield "every column is in `partition_by`, so none is left to write", "take one away from it"
        elif self.format == "text" and (len(written) > 1 or written[0][1] not in ("string", UNKNOWN)):
            yield "text files hold one column of type string", "select one, or choose another format"
        for name, kind in written if self.format == "csv" else ():
            if kind.startswith(_NESTED):
                yield (
                    f"csv files hold no {kind.partition('<')[0]}, such as '{name}'",
                    "drop it, or choose another format",
                )


class ConsoleSink(SinkOptions):
    """Prints rows as tables."""

    type: Literal["console"] = "console"
    limit: int = Field(default=20, ge=1, description="rows of one table; of more the number is shown")


class ListSink(SinkOptions):
    """Keeps rows in memory, for tests and trials."""

    type: Literal["list"] = "list"


class PythonSink(SinkOptions):
    """Calls Python code of yours for each record, in tasks: what it does outside is its own affair, and what it returns goes nowhere."""

    type: Literal["python"] = "python"
    function: str | None = Field(
        default=None, description="import path of a function `f(row)` or `f(row, metadata)`: module.name"
    )
    class_: str | None = Field(
        default=None,
        alias="class",
        description="import path of a class with `process(row)` or `process(row, metadata)`; it may have open() and close()",
    )
    args: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments: for the function at each call, for the class once"
    )
    idempotent_by: Columns = Field(
        default=(),
        description="the column or columns of an id: the code is called once for each; left out: for each record",
    )
    store: str = Field(
        default="state",
        description="where ids are kept: state (that of tasks; after a crash, calls since the last commit are made again), or "
        "redis://host:port/0 (only a call that was under way is in doubt)",
    )
    in_doubt: Literal["tell", "repeat", "skip"] = Field(
        default="tell",
        description="with redis, what becomes of a record whose call was under way when a task died: tell fails it (see `on_error`), "
        "repeat calls again, skip does not",
    )
    ttl: Duration | None = Field(default=None, gt=0, description="how long an id is known; left out: for ever")
    on_error: OnError = Field(
        default_factory=ErrorPolicy, description="what becomes of a record on which it fails: a word or a map"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.function is None) == (self.class_ is None):
            raise Problem("needs either 'function' or 'class'", hint="give one of them")
        if self.store != "state" and not self.store.startswith(("redis://", "rediss://")):
            raise Problem(f"'{self.store}' is no store of ids", hint="write state, or redis://host:port/0")
        lone = [name for name in ("store", "in_doubt", "ttl") if name in self.model_fields_set]
        if lone and not self.idempotent_by:
            raise Problem(
                f"has '{lone[0]}' and no 'idempotent_by'", hint="name the column of the id: idempotent_by: id"
            )
        if "in_doubt" in self.model_fields_set and self.store == "state":
            raise Problem(
                "has 'in_doubt', which state cannot tell", hint="set 'store' to redis://host:port/0, or leave it out"
            )
        return self


SINKS: dict[str, type[SinkOptions]] = {
    "kafka": KafkaSink, "file": FileSink, "console": ConsoleSink, "list": ListSink,
    "python": PythonSink,
}  # fmt: skip
