"""Sources and sinks that only queries have, beside files: databases, tables, and a server that is told of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from whorl.config.fields import OptionalSchema
from whorl.config.sinks import SinkOptions
from whorl.config.sources import LATE, REFRESH, SourceOptions, refuse_static_stream
from whorl.config.tree import Path
from whorl.config.validation import Problem
from whorl.operators.operator import Columns, Options
from whorl.operators.watermark import Watermark
from whorl.schema import Schema
from whorl.units import Duration

_COLUMNS = "columns and their types, {name: type}; without it those that it has"
_POSTGRESQL = "jdbc:postgresql:"
_TABLE = re.compile(r"\w+(\.\w+)?$")
_SECRET = re.compile(r"(password=)[^&;]*", re.IGNORECASE)


def _table(value: Any) -> Any:
    if isinstance(value, str) and not _TABLE.match(value):
        raise Problem(f"'{value}' is not the name of a table", hint="write table, or database.table")
    return value


Table = Annotated[str, BeforeValidator(_table)]


class Database(Options):
    """How a database is reached."""

    url: str = Field(description="jdbc:postgresql://host:5432/database")
    user: str = Field(default="", description="who connects")
    password: str = Field(default="", description="by what; give it as ${VARIABLE}", repr=False)

    @field_validator("url")
    @classmethod
    def _is_jdbc(cls, url: str) -> str:
        if not url.startswith("jdbc:"):
            raise Problem(f"'{url}' is no JDBC URL", hint="write jdbc:postgresql://host:5432/database")
        return url

    @property
    def shown_url(self) -> str:
        """Without what is secret."""
        return _SECRET.sub(r"\1***", self.url)

    @property
    def is_postgresql(self) -> bool:
        return self.url.startswith(_POSTGRESQL)


class TableSource(SourceOptions):
    in_query: ClassVar[bool] = True
    schema_: OptionalSchema = Field(default=None, alias="schema", description=_COLUMNS)
    refresh: Duration | None = Field(default=None, gt=0, description=REFRESH)

    def output(self) -> Schema | None:
        return self.schema_


class JdbcSource(Database, TableSource):
    """A table of a database, or what a query over it gives: no stream, but rows to join one with, as they are at the start."""

    type: Literal["jdbc"] = "jdbc"
    table: Table | None = Field(default=None, description="the table; or `query`")
    query: str | None = Field(default=None, description="a SELECT that the database runs")
    driver: str | None = Field(
        default=None, description="the driver's class, of databases other than PostgreSQL; its jar is in spark.jars"
    )

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.table is None) == (self.query is None):
            raise Problem("it needs a 'table' or a 'query', one of them", hint="keep one")
        return self

    @property
    def is_static(self) -> bool:
        return True

    @property
    def place(self) -> str:
        return self.table or "a query"

    @property
    def told(self) -> str:
        return f"{f'table {self.table!r}' if self.table else 'a query'} of {self.shown_url}"


class HiveSource(TableSource):
    """A Hive table: no stream, but rows to join one with, as they are at the start."""

    type: Literal["hive"] = "hive"
    table: Table = Field(description="the table: name, or database.name")

    @property
    def is_static(self) -> bool:
        return True

    @property
    def place(self) -> str:
        return self.table

    @property
    def told(self) -> str:
        return f"Hive table '{self.table}'"


class DeltaSource(TableSource):
    """A Delta table: a stream of the rows that are in it and that are added to it, or, if `static`, rows to join one with."""

    type: Literal["delta"] = "delta"
    path: str = Field(min_length=1, description="its folder: relative to the working directory, absolute, or a URL")
    static: bool = Field(default=False, description="no stream but a table to join with: the version of the start")
    max_files: int | None = Field(default=None, ge=1, description="the most new files of one batch")
    watermark: Watermark | None = Field(default=None, description=LATE)

    @model_validator(mode="after")
    def _no_stream(self) -> Self:
        refuse_static_stream(self, self.static)
        return self

    @property
    def is_static(self) -> bool:
        return self.static

    @property
    def told(self) -> str:
        return f"Delta table '{self.path}'"


class StoreSink(SinkOptions):
    """What a query writes batch by batch, the only output of its query."""

    in_query: ClassVar[bool] = True
    patience: Duration = Field(
        default=600.0,
        description="how long a batch waits for a server that is away, asking again after 1 s, 2 s, … 30 s, before the query fails and the "
        "setting `restart` decides",
    )


class JdbcSink(Database, StoreSink):
    """A table of PostgreSQL: rows are added, or, with `key`, take the place of those with the same key."""

    type: Literal["jdbc"] = "jdbc"
    table: Table = Field(description="the table: name, or schema.name; made if it is not there")
    key: Columns = Field(
        default=(), description="the column or columns of its primary key or a unique index; left out: rows are added"
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if not self.is_postgresql:
            raise Problem(f"'{self.shown_url}' is no PostgreSQL", hint="write to PostgreSQL, or to a topic")
        return self

    @property
    def takes_changes(self) -> bool:
        return bool(self.key)

    def columns(self) -> tuple[tuple[Path, str], ...]:
        return tuple((("key", index), name) for index, name in enumerate(self.key))

    @property
    def place(self) -> str:
        return self.table

    @property
    def told(self) -> str:
        how = f"upsert by {', '.join(self.key)}" if self.key else "rows are added"
        return f"table '{self.table}' of {self.shown_url}, {how}"

    @property
    def guarantee(self) -> str:
        return "exactly once: a batch and its number, in the table whorl_batches, are one transaction of PostgreSQL"


class DeltaSink(StoreSink):
    """A Delta table: rows are added, or, with `key`, merged into those with the same key."""

    type: Literal["delta"] = "delta"
    path: str = Field(min_length=1, description="its folder: relative to the working directory, absolute, or a URL")
    key: Columns = Field(
        default=(), description="the column or columns by which rows are merged; left out: rows are added"
    )
    partition_by: Columns = Field(
        default=(), description="of a table that is not there yet: the columns of its folders"
    )

    @property
    def takes_changes(self) -> bool:
        return bool(self.key)

    def columns(self) -> tuple[tuple[Path, str], ...]:
        named = (("key", self.key), ("partition_by", self.partition_by))
        return tuple(((option, index), name) for option, names in named for index, name in enumerate(names))

    @property
    def told(self) -> str:
        how = f"merged by {', '.join(self.key)}" if self.key else "rows are added"
        return f"Delta table '{self.path}', {how}"

    @property
    def guarantee(self) -> str:
        return "exactly once: a batch is one version of the Delta table, with its number in it (txnAppId, txnVersion)"


class HiveSink(StoreSink):
    """A Hive table of Parquet or ORC files, to which rows are added."""

    type: Literal["hive"] = "hive"
    table: Table = Field(description="the table: name, or database.name; made if it is not there")
    partition_by: Columns = Field(default=(), description="of a table that is not there yet: its partition columns")
    format: Literal["parquet", "orc"] = Field(default="parquet", description="of a table that is not there yet")

    def columns(self) -> tuple[tuple[Path, str], ...]:
        return tuple((("partition_by", index), name) for index, name in enumerate(self.partition_by))

    def unfit(self, schema: Schema) -> Iterator[tuple[str, str]]:
        if self.partition_by and set(schema.names) <= set(self.partition_by):
            yield "every column is in `partition_by`, so none is left to write", "take one away from it"

    @property
    def place(self) -> str:
        return self.table

    @property
    def told(self) -> str:
        return f"Hive table '{self.table}', rows are added"

    @property
    def guarantee(self) -> str:
        return "exactly once: the files of a batch carry its number, and a batch that is repeated takes their place"


class HttpSink(StoreSink):
    """A server that is told of every row by a request of HTTP with JSON in it."""

    type: Literal["http"] = "http"
    url: str = Field(pattern=r"^https?://", description="where requests go")
    method: Literal["POST", "PUT", "PATCH"] = Field(default="POST", description="of the requests")
    headers: dict[str, str] = Field(
        default_factory=dict, description="of every request: {Authorization: 'Bearer ${TOKEN}'}"
    )
    rows_per_request: int = Field(
        default=1, ge=1, description="1: the row is the body; more: an array of up to so many rows"
    )
    timeout: Duration = Field(default=10.0, gt=0, description="the longest that an answer may take")

    def __hash__(self) -> int:
        return hash((self.type, self.url))

    @property
    def takes_changes(self) -> bool:
        return True

    @property
    def place(self) -> str:
        return self.url

    @property
    def told(self) -> str:
        each = "one request a row" if self.rows_per_request == 1 else f"up to {self.rows_per_request} rows a request"
        return f"{self.method} {self.url}, {each}"

    @property
    def guarantee(self) -> str:
        return "at least once: a failure may repeat requests; each has an Idempotency-Key, by which the server can leave out the second"


STORE_SOURCES: dict[str, type[SourceOptions]] = {"jdbc": JdbcSource, "delta": DeltaSource, "hive": HiveSource}
STORE_SINKS: dict[str, type[SinkOptions]] = {"jdbc": JdbcSink, "delta": DeltaSink, "hive": HiveSink, "http": HttpSink}
