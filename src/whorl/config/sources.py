"""The options of sources, and the columns that leave them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from whorl.config.fields import Format, Moment, OnError, OptionalSchema, Topic
from whorl.config.files import SELF_DESCRIBING, FileOptions
from whorl.config.offset_stores import StartFrom
from whorl.config.validation import Problem
from whorl.formats import format_schema, parse_format
from whorl.formats.options import JsonFormat
from whorl.operators.operator import Columns, ErrorPolicy, Options
from whorl.operators.watermark import Watermark
from whorl.schema import INFER, TEXT, UNKNOWN, Schema
from whorl.units import Duration

__all__ = [
    "SOURCES", "FileSource", "KafkaSource", "ListSource", "RateSource", "SourceOptions", "Start", "Watermark",
]  # fmt: skip

Drift = Literal["ignore", "add", "dead_letter", "fail"]
LATE = "event time, and how late a row may be: {column: ..., delay: 10s}"
REFRESH = "with what is no stream: how often it is read anew, 10m; left out: at each start"
_PYTHON_TYPES = {bool: "boolean", int: "long", float: "double", str: "string", bytes: "binary", datetime: "timestamp"}


class Start(Options):
    """Where reading begins when the pipeline has no position of its own yet."""

    position: Literal["earliest", "latest"] = Field(default="earliest", description="where nothing else is said")
    timestamp: Moment | None = Field(
        default=None,
        description="at the first record of this time or later: 2026-01-31T12:00:00Z, or milliseconds since 1970",
    )
    offsets: dict[str, dict[int, int]] | None = Field(default=None, description="{topic: {partition: offset}}")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"position": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.timestamp is not None and self.offsets is not None:
            raise Problem("has both 'timestamp' and 'offsets'", hint="keep one")
        return self

    def __hash__(self) -> int:
        return hash((self.position, self.timestamp))


class SourceOptions(Options):
    """What all sources have."""

    type: str
    in_query: ClassVar[bool] = False
    """Whether only queries read it."""
    on_error: OnError = Field(default_factory=ErrorPolicy, description="what becomes of a record that cannot be read")

    @property
    def is_static(self) -> bool:
        """No stream, but rows that are read as they are at the start."""
        return False

    @property
    def place(self) -> str:
        """Where it is, of those that only queries read."""
        return str(getattr(self, "path", ""))

    @property
    def told(self) -> str:
        """What it reads, in a few words, where that is no topic."""
        return f"{self.type} source"

    def output(self) -> Schema | None:
        """The columns of its rows, where they are known."""
        return None

    @property
    def infers(self) -> bool:
        """Whether its columns are still to be found."""
        return getattr(self, "schema_", None) == INFER


class KafkaSource(SourceOptions):
    """Records of Kafka topics."""

    type: Literal["kafka"] = "kafka"
    topic: Topic | None = Field(default=None, description="the topic; or `topics`, or `pattern`")
    topics: tuple[Topic, ...] = Field(default=(), description="several topics")
    pattern: str | None = Field(default=None, description="all topics whose whole name matches this regular expression")
    key: Columns = Field(default=(), description="the column or columns that the Kafka key holds")
    format: Format = Field(
        default_factory=lambda: parse_format("json"), description="how values are written: a name, or a map with `type`"
    )
    schema_: OptionalSchema = Field(
        default=None,
        alias="schema",
        description="columns and their types, {name: type}; or `infer`: found at the first start, and pinned; without it columns are "
        "not checked",
    )
    drift: Drift | None = Field(
        default=None,
        description="records whose columns are not those of the schema any more are told, and: ignore: new columns are left out; add: they "
        "are read from the next start on; dead_letter, fail: such records are dead letters, or end the run; without it, with `schema: "
        "infer`, ignore. What does not fit its type goes by `on_error`",
    )
    start: Start = Field(
        default_factory=Start,
        description="at the first start: earliest, latest, {timestamp: ...}, {offsets: {topic: {partition: n}}}",
    )
    start_from: StartFrom | None = Field(
        default=None,
        description="at the first start: the offsets that another consumer has committed, as the setting; where it has none, as `start` says",
    )
    on_gap: Literal["fail", "earliest"] | None = Field(
        default=None, description="when records are gone from Kafka before they were read; without it as the setting"
    )
    partitioner: Literal["murmur2", "crc32"] | None = Field(
        default=None, description="the hash by which its writer spread the keys; checked against a sample at the start"
    )
    watermark: Watermark | None = Field(default=None, description=LATE)
    max_rate: float | None = Field(
        default=None,
        gt=0,
        description="of tasks: the most records a second, over all of them; what goes round in a loop is not held back by it",
    )
    max_per_batch: int | None = Field(
        default=None, ge=1, description="of queries: the most records of one batch; without it the setting's"
    )
    table: bool = Field(
        default=False,
        description="no stream but a table, as under `tables`: the last row of each key, which operators with state look up",
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise Problem(
                f"'{value}' is not a regular expression: {error}", hint="escape its special characters"
            ) from None
        return value

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        given = [name for name in ("topic", "topics", "pattern") if getattr(self, name)]
        if not given:
            raise Problem("no topic", code="missing-key", hint="add `topic: ...`, `topics: [...]` or `pattern: ...`")
        if len(given) > 1:
            raise Problem(f"has {' and '.join(repr(name) for name in given)}", hint="keep one of them")
        return self

    @model_validator(mode="after")
    def _no_stream(self) -> Self:
        odd = [
            name for name in ("topics", "pattern", "start", "start_from", "watermark") if name in self.model_fields_set
        ]
        if self.table and odd:
            hint = "a table is all of one topic, and no stream"
            raise Problem(f"is a table and has '{odd[0]}'", hint=hint)
        return self

    @model_validator(mode="after")
    def _strict(self) -> Self:
        if self.drift not in ("dead_letter", "fail"):
            return self
        if not isinstance(self.format, JsonFormat):
            hint = "write `drift: ignore` or `drift: add`"
            raise Problem(f"'drift: {self.drift}' is of json alone, not of {self.format.type}", hint=hint)
        if "on_error" in self.model_fields_set and self.on_error.action != self.drift:
            what = f"'drift' is {self.drift} and 'on_error' {self.on_error.action}: what drifted cannot be read"
            raise Problem(what, hint="leave one of them out")
        return self

    @property
    def watches(self) -> bool:
        """Whether changes of its columns are looked for."""
        return self.drift is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The topics it names; empty with a pattern."""
        return (self.topic,) if self.topic else self.topics

    def enforced(self) -> Self:
        """With what `drift` comes to: whether columns that are new are an error, and what becomes of a record that has one."""
        if self.drift not in ("dead_letter", "fail"):
            return self
        strict = self.format.model_copy(update={"strict": True})
        return self.model_copy(update={"format": strict, "on_error": ErrorPolicy(action=self.drift)})

    def output(self) -> Schema | None:
        return None if self.infers else self.schema_ or format_schema(self.format)


class ListSource(SourceOptions):
    """Rows written in the pipeline file, for tests and trials."""

    type: Literal["list"] = "list"
    rows: tuple[dict[str, Any], ...] = Field(description="the rows in order; one that is no map is the column `value`")
    keys: tuple[str | None, ...] = Field(default=(), description="the key of each row; without it rows have none")

    @field_validator("rows", mode="before")
    @classmethod
    def _maps(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [row if isinstance(row, Mapping) else {"value": row} for row in value]

    @model_validator(mode="after")
    def _a_key_each(self) -> Self:
        if self.keys and len(self.keys) != len(self.rows):
            raise Problem(f"has {len(self.rows)} rows and {len(self.keys)} keys", hint="give each row a key, or none")
        return self

    def output(self) -> Schema | None:
        names = dict.fromkeys(name for row in self.rows for name in row)
        return Schema(tuple((name, self._type_of(name)) for name in names)) if names else None

    def _type_of(self, name: str) -> str:
        types = {_PYTHON_TYPES.get(type(row[name]), UNKNOWN) for row in self.rows if row.get(name) is not None}
        return types.pop() if len(types) == 1 else UNKNOWN

    def __hash__(self) -> int:
        return hash((self.type, len(self.rows), self.keys))


class RateSource(SourceOptions):
    """Numbered rows {value, timestamp} at a steady rate, for tests and trials."""

    type: Literal["rate"] = "rate"
    rows_per_second: float = Field(default=1.0, gt=0, description="over all partitions")
    partitions: int = Field(default=1, ge=1, description="rows are dealt to them in turn")
    limit: int | None = Field(default=None, ge=0, description="end after so many rows")
    watermark: Watermark | None = Field(default=None, description=LATE)

    def output(self) -> Schema | None:
        return Schema((("value", "long"), ("timestamp", "timestamp")))


def refuse_static_stream(options: SourceOptions, static: bool) -> None:
    """Of a source that may be either: what is of a stream beside `static`, or of what is read once beside a stream."""
    odd = [key for key in ("max_files", "watermark") if static and getattr(options, key) is not None]
    if odd:
        raise Problem(f"has 'static' and '{odd[0]}'", hint="keep one: what is static is no stream")
    if getattr(options, "refresh", None) and not static:
        raise Problem("has 'refresh', and is a stream", hint="add `static: true`, or take `refresh` away")


class FileSource(FileOptions, SourceOptions):
    """Rows of files: those in a folder, and those that are added to it later. Files never change once they are there."""

    type: Literal["file"] = "file"
    in_query: ClassVar[bool] = True
    schema_: OptionalSchema = Field(
        default=None,
        alias="schema",
        description="columns and their types, {name: type}, or `infer`; text has the column `value`; parquet, orc and avro may go "
        "without if `static`",
    )
    static: bool = Field(
        default=False, description="no stream but a table to join with: the files that are there at the start"
    )
    refresh: Duration | None = Field(default=None, gt=0, description=REFRESH)
    max_files: int | None = Field(default=None, ge=1, description="the most new files of one batch")
    watermark: Watermark | None = Field(default=None, description=LATE)

    @model_validator(mode="after")
    def _columns_known(self) -> Self:
        if self.format == "text" and self.schema_ not in (None, TEXT, INFER):
            raise Problem("text has the one column 'value'", hint="leave `schema` out")
        if self.output() is None and not self.infers and not (self.static and self.format in SELF_DESCRIBING):
            hint = "add `schema: {column: type, ...}`"
            raise Problem(f"{self.format} files do not say what columns they have", code="missing-key", hint=hint)
        return self

    @model_validator(mode="after")
    def _no_stream(self) -> Self:
        refuse_static_stream(self, self.static)
        return self

    @property
    def is_static(self) -> bool:
        return self.static

    @property
    def told(self) -> str:
        return f"folder '{self.path}', {self.format} files"

    def output(self) -> Schema | None:
        return TEXT if self.format == "text" else None if self.infers else self.schema_


SOURCES: dict[str, type[SourceOptions]] = {
    "kafka": KafkaSource, "file": FileSource, "list": ListSource, "rate": RateSource,
}  # fmt: skip
