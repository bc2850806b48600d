"""Hive tables of Parquet or ORC, exactly once.

1 skip      a batch that the note of this writer has already, in the table's folder
2 stage     Spark writes the batch into a hidden folder of the table
3 undo      what an earlier attempt at this batch has put into the table, by the list that it left
4 list      which files will go where
5 move      them there, by renames, and tell the metastore of partitions that are new
6 note      the batch's number; the staged folder and the list go

Readers see the files of a batch come one by one: what is exactly once is the table, not each look at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from whorl.config.stores import HiveSink
from whorl.errors import PipelineError, Superseded, Unavailable
from whorl.operators.sqltext import quoted, text
from whorl.plan import naming
from whorl.query.frames import columns, visible
from whorl.query.stores.fit import fitted
from whorl.query.stores.store import Order, Reject
from whorl.spark.folder import Folder

_FOLDER = "_whorl"
"""Readers pass over what begins with an underscore."""
_AWAY = ("TTransportException", "Could not connect to meta store", "SocketException", "Connection refused")
_FORMATS = ("parquet", "orc")


@dataclass(frozen=True)
class HiveTable:
    location: str
    format: str
    schema: StructType
    partitions: tuple[str, ...]


class HiveStore:
    def __init__(self, session: SparkSession, id: str, sink: HiveSink) -> None:
        self._session, self._id, self._sink = session, id, sink
        self._name = ".".join(map(quoted, sink.table.split(".")))

    def fitted(self, rows: DataFrame) -> DataFrame:
        with_ = self._asked(lambda: self._table(rows))
        return fitted(rows, with_.schema, f"the Hive table '{self._sink.table}'", self._id, {})

    def write(self, rows: DataFrame, order: Order, reject: Reject) -> bool:
        table = self._asked(lambda: self._table(rows))
        return bool(self._asked(lambda: _Batch(self._session, self._name, table, order).write(rows)))

    def _asked(self, question: Any) -> Any:
        try:
            return question()
        except (PipelineError, Superseded):
            raise
        except Exception as error:
            said = str(error)
            if any(word in said for word in _AWAY):
                message = f"the metastore of '{self._sink.table}' does not answer: {said.splitlines()[0]}"
                raise Unavailable(
                    message, hint="is it up? see the setting 'hive.metastore'", code="store-away"
                ) from error
            raise

    def _table(self, rows: DataFrame) -> HiveTable:
        if not self._session.catalog.tableExists(self._sink.table):
            self._create(rows)
        spec: Any = self._session._jsparkSession.sessionState()
        found = spec.catalog().getTableMetadata(spec.sqlParser().parseTableIdentifier(self._name))
        format = _format_of(found)
        if format not in _FORMATS:
            message = f"the Hive table '{self._sink.table}' is of {format or 'another format'}, and only parquet and orc are written"
            raise PipelineError(message, hint="write to a table STORED AS PARQUET or ORC", code="store")
        names = found.partitionColumnNames()
        partitions = tuple(str(names.apply(index)) for index in range(names.size()))
        schema = self._session.table(self._sink.table).schema
        return HiveTable(str(found.location().toString()), format, schema, partitions)

    def _create(self, rows: DataFrame) -> None:
        sink, kinds = self._sink, {name: rows.schema[name].dataType.simpleString() for name in visible(rows)}
        own = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items() if name not in sink.partition_by)
        by = ", ".join(f"{quoted(name)} {kinds[name]}" for name in sink.partition_by)
        parted = f" PARTITIONED BY ({by})" if by else ""
        self._session.sql(f"CREATE TABLE IF NOT EXISTS {self._name} ({own}){parted} STORED AS {sink.format}")


def _format_of(table: Any) -> str:
    provider, storage = table.provider(), str(table.storage().toString()).lower()
    name = str(provider.get()).lower() if provider.isDefined() else ""
    return name if name != "hive" else next((format for format in _FORMATS if format in storage), "")


class _Batch:
    def __init__(self, session: SparkSession, name: str, table: HiveTable, order: Order) -> None:
        self._session, self._name, self._table, self._order = session, name, table, order
        self._folder = Folder(session, table.location, "table")
        self._prefix = f"whorl-{order.uid}-{naming.slug(order.component)}-{order.seq}-"
        self._note, self._list = f"{_FOLDER}/{order.writer}", f"{_FOLDER}/{order.writer}.{order.seq}.json"

    def write(self, rows: DataFrame) -> bool:
        """1 to 6."""
        run, last = self._noted
        if run > self._order.run:
            raise Superseded(f"a newer driver writes {self._name}", hint="this one ends; nothing was written twice")
        if last >= self._order.seq:
            return False
        staged = self._stage(rows)
        self._undo()
        moves = list(self._moves(staged))
        self._folder.write(self._list, orjson.dumps([target for _, target in moves]))
        for source, target in moves:
            self._folder.move(source, target)
        self._tell({target.rpartition("/")[0] for _, target in moves})
        self._folder.write(self._note, orjson.dumps([self._order.run, self._order.seq]))
        self._folder.remove(staged)
        self._folder.remove(self._list)
        return True

    @cached_property
    def _noted(self) -> tuple[int, int]:
        data = self._folder.read(self._note)
        return tuple(orjson.loads(data)) if data else (0, -1)

    def _stage(self, rows: DataFrame) -> str:
        staged = f"{_FOLDER}/{self._order.writer}.staged"
        known = {name.lower(): name for name in visible(rows)}
        ordered = [known[name.lower()] for name in self._table.schema.names if name.lower() in known]
        writer = rows.select(*columns(ordered)).write.mode("overwrite").format(self._table.format)
        if self._table.partitions:
            writer = writer.partitionBy(*[known[name.lower()] for name in self._table.partitions])
        writer.save(f"{self._table.location}/{staged}")
        return staged

    def _undo(self) -> None:
        for target in orjson.loads(self._folder.read(self._list) or b"[]"):
            self._folder.remove(target)

    def _moves(self, staged: str) -> Iterator[tuple[str, str]]:
        for path in self._folder.files(staged):
            place, _, name = path.rpartition("/")
            if not name.startswith(("_", ".")):
                yield f"{staged}/{path}", f"{place}/{self._prefix}{name}".lstrip("/")

    def _tell(self, places: set[str]) -> None:
        """The metastore knows partitions by name; where their files are follows from it."""
        for place in sorted(places - {""}):
            values = (part.partition("=") for part in place.split("/"))
            spec = ", ".join(f"{quoted(name)} = {text(_unescaped(value))}" for name, _, value in values)
            self._session.sql(
                f"ALTER TABLE {self._name} ADD IF NOT EXISTS PARTITION ({spec}) LOCATION {text(f'{self._table.location}/{place}')}"
            )
        self._session.catalog.refreshTable(self._name)


def _unescaped(value: str) -> str:
    parts = value.split("%")
    return parts[0] + "".join(chr(int(part[:2], 16)) + part[2:] for part in parts[1:])
