"""Delta tables, exactly once: a batch is one version of the table, in which Delta notes the writer and the batch's number itself. When it
comes again, Delta sees that it has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from whorl.config.stores import DeltaSink
from whorl.operators.sqltext import quoted
from whorl.query.frames import columns, visible, without_hidden
from whorl.query.located import located
from whorl.query.stores.fit import fitted
from whorl.query.stores.store import ROW, Order, Reject
from whorl.spark.folder import Folder

_APP, _VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
_CONSTRAINT = "delta.constraints."
_LAST = "__whorl_last"
_JSON = ".json"


@dataclass(frozen=True)
class DeltaStore:
    session: SparkSession
    id: str
    sink: DeltaSink

    @property
    def _path(self) -> str:
        return located(self.sink.path)

    @property
    def _table(self) -> str:
        return f"delta.{quoted(self._path)}"

    def fitted(self, rows: DataFrame) -> DataFrame:
        schema = self._schema()
        if schema is None:
            return rows
        return fitted(rows, schema, f"the Delta table '{self.sink.path}'", self.id, self._constraints())

    def write(self, rows: DataFrame, order: Order, reject: Reject) -> bool:
        before = self._version()
        with _numbered(rows.sparkSession, order):
            if self.sink.key and before is not None:
                self._merge(rows)
            else:
                self._append(self._last_of_each(rows) if self.sink.key else rows)
        return self._version() != before

    def _append(self, rows: DataFrame) -> None:
        writer = without_hidden(rows).write.format("delta").mode("append")
        if self.sink.partition_by and self._version() is None:
            writer = writer.partitionBy(*self.sink.partition_by)
        writer.save(self._path)

    def _merge(self, rows: DataFrame) -> None:
        view = quoted(f"whorl {self.id}")
        self._last_of_each(rows).createOrReplaceTempView(view)
        same = " AND ".join(f"there.{quoted(name)} <=> new.{quoted(name)}" for name in self.sink.key)
        names = visible(rows)
        set_ = ", ".join(f"there.{quoted(name)} = new.{quoted(name)}" for name in names)
        listed, given = ", ".join(map(quoted, names)), ", ".join(f"new.{quoted(name)}" for name in names)
        rows.sparkSession.sql(
            f"MERGE INTO {self._table} there USING {view} new ON {same} WHEN MATCHED THEN UPDATE SET {set_} "
            f"WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({given})"
        )

    def _last_of_each(self, rows: DataFrame) -> DataFrame:
        """Of several rows with one key the last."""
        order = Window.partitionBy(*columns(list(self.sink.key))).orderBy(F.col(ROW).desc())
        last = rows.withColumn(_LAST, F.row_number().over(order)).where(F.col(_LAST) == 1)
        return without_hidden(last)

    def _version(self) -> int | None:
        return delta_version(self.session, self._path)

    def _schema(self) -> StructType | None:
        return self.session.read.format("delta").load(self._path).schema if self._version() is not None else None

    def _constraints(self) -> dict[str, str]:
        listed = self.session.sql(f"SHOW TBLPROPERTIES {self._table}").collect()
        properties = {row.key: row.value for row in listed}
        return {name.removeprefix(_CONSTRAINT): sql for name, sql in properties.items() if name.startswith(_CONSTRAINT)}


@contextmanager
def _numbered(session: SparkSession, order: Order) -> Iterator[None]:
    """Delta skips what the table has of this writer already. `session`: that of the batch, which Spark made a copy of ours for."""
    session.conf.set(_APP, order.writer)
    session.conf.set(_VERSION, str(order.seq))
    try:
        yield
    finally:
        session.conf.unset(_APP)
        session.conf.unset(_VERSION)


def delta_version(session: SparkSession, path: str) -> int | None:
    """The last one, by the files of its log: asked for each batch, so no job of Spark. None: there is no table."""
    names = Folder(session, path, "path").names("_delta_log")
    numbers = (name.removesuffix(_JSON) for name in names if name.endswith(_JSON))
    return max((int(number) for number in numbers if number.isdecimal()), default=None)
