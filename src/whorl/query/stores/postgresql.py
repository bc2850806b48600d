"""Tables of PostgreSQL, exactly once.

A batch is one transaction, from the driver, over JDBC:

1 lock      the row of this writer in `whorl_batches`: a second driver waits here, and then sees what the first has done
2 compare   a later run there: superseded. This batch or a later one there: done, nothing is written
3 write     the rows as JSON, some thousands a statement; PostgreSQL makes them rows of the table. A statement that a row spoils is undone and
            split until the row is alone: that one is refused, with the database's own words
4 reject    refused rows become dead letters
5 commit    with the number of the batch
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as t

from whorl.config.stores import Database, JdbcSink
from whorl.errors import PipelineError, Superseded, Unavailable
from whorl.operators.sqltext import text
from whorl.query.frames import column, visible
from whorl.query.stores.store import ROW, Order, Reject

_DRIVER = "org.postgresql.Driver"
_CHUNK = 5000
_BATCHES = """CREATE TABLE IF NOT EXISTS whorl_batches (
  writer text PRIMARY KEY, pipeline text NOT NULL, run bigint NOT NULL, batch bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())"""
_OF_THE_ROW = ("22", "23")
"""Classes of SQLSTATE: values and constraints."""
_AWAY = ("08", "57P", "53")
"""The connection, the server's end, its means."""
_TYPES = {
    "string": "text", "int": "integer", "bigint": "bigint", "smallint": "smallint", "tinyint": "smallint", "double": "double precision",
    "float": "real", "boolean": "boolean", "timestamp": "timestamptz", "date": "date", "binary": "bytea",
}  # fmt: skip
Numbered = tuple[int, str]
"""A row: its number, and itself as JSON."""


class Failed(Exception):
    """What the database said."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


class Connection:
    """One of JDBC, in the driver's JVM."""

    def __init__(self, session: SparkSession, database: Database) -> None:
        jvm: Any = session._jvm
        properties = jvm.java.util.Properties()
        named = {"user": database.user, "password": database.password, "connectTimeout": "10", "socketTimeout": "300"}
        for name, value in named.items():
            if value:
                properties.setProperty(name, value)
        driver = session.sparkContext._jvm.org.apache.spark.util.Utils.classForName(_DRIVER, True, False)
        self._jdbc = said(
            lambda: driver.getDeclaredConstructor(None).newInstance(None).connect(database.url, properties)
        )
        said(lambda: self._jdbc.setAutoCommit(False))

    def run(self, sql: str, *values: Any) -> int:
        with closing(said(lambda: self._jdbc.prepareStatement(sql))) as statement:
            for index, value in enumerate(values, 1):
                statement.setObject(index, value)
            said(statement.execute)
            return int(statement.getUpdateCount())

    def rows(self, sql: str, *values: Any) -> list[list[Any]]:
        with closing(said(lambda: self._jdbc.prepareStatement(sql))) as statement:
            for index, value in enumerate(values, 1):
                statement.setObject(index, value)
            found = said(statement.executeQuery)
            width = found.getMetaData().getColumnCount()
            rows = []
            while said(found.next):
                rows.append([found.getObject(index) for index in range(1, width + 1)])
            return rows

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What happens in it is undone where it fails."""
        point = said(self._jdbc.setSavepoint)
        try:
            yield
        except Failed:
            said(lambda: self._jdbc.rollback(point))
            raise
        said(lambda: self._jdbc.releaseSavepoint(point))

    def commit(self) -> None:
        said(self._jdbc.commit)

    def close(self) -> None:
        with suppress(Py4JJavaError):
            self._jdbc.rollback()
        with suppress(Py4JJavaError):
            self._jdbc.close()


def said(call: Any) -> Any:
    """What the driver raises, in its own words."""
    try:
        return call()
    except Py4JJavaError as error:
        cause = error.java_exception
        state = cause.getSQLState() if hasattr(cause, "getSQLState") else None
        raise Failed(str(state or ""), str(cause.getMessage()).splitlines()[0]) from None


@dataclass(frozen=True)
class PostgreSqlStore:
    session: SparkSession
    id: str
    sink: JdbcSink

    def fitted(self, rows: DataFrame) -> DataFrame:
        """The database itself says what does not fit."""
        return rows

    def write(self, rows: DataFrame, order: Order, reject: Reject) -> bool:
        try:
            with closing(Connection(self.session, self.sink)) as connection:
                return self._write(connection, rows, order, reject)
        except Failed as failed:
            raise told(failed, self.sink, self.sink.table, f"sink '{self.id}'") from None

    def _write(self, connection: Connection, rows: DataFrame, order: Order, reject: Reject) -> bool:
        """1 to 5."""
        self._make_tables(connection, rows)
        if not self._is_next(connection, order):
            return False
        statement, refused = self._statement(rows), dict[int, str]()
        for chunk in _chunks(rows):
            refused |= _inserted(connection, statement, chunk)
        if refused:
            reject(refused)
        connection.run(
            "UPDATE whorl_batches SET run = ?, batch = ?, at = now() WHERE writer = ?",
            order.run,
            order.seq,
            order.writer,
        )
        connection.commit()
        return True

    def _make_tables(self, connection: Connection, rows: DataFrame) -> None:
        """In a transaction of their own, which no other waits for."""
        known = connection.rows(
            "SELECT to_regclass('whorl_batches') IS NOT NULL, to_regclass(?) IS NOT NULL", _table(self.sink.table)
        )
        if not known[0][0]:
            connection.run("SELECT pg_advisory_xact_lock(7260513)")  # two that make it at once would collide
            connection.run(_BATCHES)
        if not known[0][1]:
            listed = [f"{quoted(field.name)} {_type(field.dataType)}" for field in _fields(rows)]
            listed += [f"PRIMARY KEY ({_names(self.sink.key)})"] if self.sink.key else []
            connection.run(f"CREATE TABLE IF NOT EXISTS {_table(self.sink.table)} ({', '.join(listed)})")
        connection.commit()

    def _is_next(self, connection: Connection, order: Order) -> bool:
        """1 and 2."""
        connection.run(
            "INSERT INTO whorl_batches (writer, pipeline, run, batch) VALUES (?, ?, ?, -1) ON CONFLICT DO NOTHING",
            order.writer, order.pipeline, order.run,
        )  # fmt: skip
        ((run, batch),) = connection.rows(
            "SELECT run, batch FROM whorl_batches WHERE writer = ? FOR UPDATE", order.writer
        )
        if int(run) > order.run:
            raise Superseded(f"a newer driver writes '{self.id}'", hint="this one ends; nothing was written twice")
        return int(batch) < order.seq

    def _statement(self, rows: DataFrame) -> str:
        names, key = visible(rows), self.sink.key
        table, listed = _table(self.sink.table), _names(names)
        given = f"json_populate_recordset(NULL::{table}, ?::json) WITH ORDINALITY"
        if not key:
            return f"INSERT INTO {table} ({listed}) SELECT {listed} FROM {given} ORDER BY ordinality"
        others = [name for name in names if name not in key]
        changes = ", ".join(f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in others)
        how = f"DO UPDATE SET {changes}" if others else "DO NOTHING"
        # Of several rows with one key the last stays: a statement may touch a row only once.
        last = f"SELECT DISTINCT ON ({_names(key)}) {listed} FROM {given} ORDER BY {_names(key)}, ordinality DESC"
        return f"INSERT INTO {table} ({listed}) {last} ON CONFLICT ({_names(key)}) {how}"


def _inserted(connection: Connection, statement: str, rows: Sequence[Numbered]) -> dict[int, str]:
    """3. The rows that were refused, and why."""
    try:
        with connection.savepoint():
            connection.run(statement, f"[{','.join(row for _, row in rows)}]")
        return {}
    except Failed as failed:
        if not failed.state.startswith(_OF_THE_ROW):
            raise
        if len(rows) == 1:
            return {rows[0][0]: f"ValueError: PostgreSQL refuses the row: {str(failed).removeprefix('ERROR: ')}"}
    middle = len(rows) // 2
    return _inserted(connection, statement, rows[:middle]) | _inserted(connection, statement, rows[middle:])


def _chunks(rows: DataFrame) -> Iterator[list[Numbered]]:
    ready = rows.select(column(ROW), F.to_json(F.struct(*map(_ready, _fields(rows))), {"ignoreNullFields": "false"}))
    chunk: list[Numbered] = []
    for number, row in ready.toLocalIterator(prefetchPartitions=True):
        chunk.append((number, row))
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _ready(field: t.StructField) -> Any:
    """As PostgreSQL reads it in JSON."""
    value = column(field.name)
    if isinstance(field.dataType, t.BinaryType):
        value = F.concat(F.lit("\\x"), F.hex(value))
    elif isinstance(field.dataType, t.DecimalType):
        value = value.cast("string")
    elif isinstance(field.dataType, t.TimestampType):
        value = F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
    return value.alias(field.name)


def _fields(rows: DataFrame) -> list[t.StructField]:
    return [rows.schema[name] for name in visible(rows)]


def _type(kind: t.DataType) -> str:
    if isinstance(kind, t.DecimalType):
        return f"numeric({kind.precision},{kind.scale})"
    return _TYPES.get(kind.simpleString(), "jsonb")


def _table(name: str) -> str:
    return ".".join(map(quoted, name.split(".")))


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def told(failed: Failed, database: Database, table: str | None, who: str) -> Exception:
    """As the user hears it."""
    if failed.state.startswith(_AWAY):
        return Unavailable(f"{database.shown_url} does not answer: {failed}", hint="is it up?", code="store-away")
    if failed.state == "42P10":
        hint = "give it a primary key or a unique index of these columns, or leave `key` out"
        return PipelineError(f"{who}: no unique index of '{table}' has the columns of `key`", hint=hint, code="store")
    hint = "see user, rights and columns of the table"
    return PipelineError(f"{who}: PostgreSQL says: {text(str(failed))}", hint=hint, code="store")
