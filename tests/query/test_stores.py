"""Stores, each with the real thing behind it: a batch that comes again changes nothing, rows that are refused are told one by one, and what
breaks off is made whole by the next attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.servers.postgresql import BINARIES, PostgreSql
from tests.servers.webhook import Webhook

from whorl.config.sinks import SinkOptions
from whorl.config.stores import DeltaSink, HiveSink, HttpSink, JdbcSink, JdbcSource
from whorl.errors import PipelineError, Superseded, Unavailable
from whorl.operators.operator import ErrorPolicy
from whorl.plan.ends import JSON
from whorl.plan.plan import Input
from whorl.query.frames import ERROR, good
from whorl.query.stores.make import store_of
from whorl.query.stores.sources import table_rows
from whorl.query.stores.store import ROW, Order
from whorl.spark.folder import Folder

pytestmark = pytest.mark.spark
Rows = list[tuple[Any, ...]]
needs_postgresql = pytest.mark.skipif(not BINARIES, reason="PostgreSQL is not installed: make tools")


class Written:
    """Of one call: whether the batch was new, and why rows were refused."""

    def __init__(self, new: bool, refused: list[str]) -> None:
        self.new, self.refused = new, refused


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    monkeypatch.chdir(tmp_path)
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    return own


def frame(session: SparkSession, rows: Rows, kinds: str = "id long, who string, x double") -> DataFrame:
    return session.createDataFrame(rows, kinds).coalesce(1).withColumn(ROW, F.monotonically_increasing_id())


@pytest.fixture
def write(session: SparkSession) -> Callable[..., Written]:
    def write(sink: SinkOptions, seq: int, rows: Rows, run: int = 1, store: Any = None, **more: str) -> Written:
        store = store or store_of(session, "out", sink)
        fit = store.fitted(frame(session, rows, **more))
        unfit = fit.where(F.col(ERROR).isNotNull()) if ERROR in fit.columns else None
        said = [row[ERROR] for row in unfit.select(ERROR).collect()] if unfit else []
        refused: dict[int, str] = {}
        new = store.write(good(fit), Order("p", "c", "uid1", run, seq), refused.update)
        return Written(new, [*said, *refused.values()])

    return write


# -- PostgreSQL -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgreSql]:
    server = PostgreSql()
    server.start()
    yield server
    server.remove()


@needs_postgresql
def test_postgresql(write: Callable[..., Written], postgresql: PostgreSql, session: SparkSession) -> None:
    sink = JdbcSink(url=postgresql.url, user=postgresql.user, table="people", key=("id",))
    people = "SELECT * FROM people ORDER BY id"
    assert write(sink, 0, [(1, "a", 1.0), (2, "b", 2.0), (1, "c", 3.0)]).new
    assert postgresql.sql(people) == [["1", "c", "3"], ["2", "b", "2"]]
    assert not write(sink, 0, [(1, "again", 1.0)]).new
    postgresql.sql("ALTER TABLE people ADD CONSTRAINT positive CHECK (x > 0)")
    refused = write(sink, 1, [(3, "a", 1.0), (4, "b", -2.0), (None, "c", 3.0), (2, "B", 2.5)]).refused
    assert ["positive" in refused[0], "null value in column" in refused[1]] == [True, True]
    assert postgresql.sql(people) == [["1", "c", "3"], ["2", "B", "2.5"], ["3", "a", "1"]]

    postgresql.stop()
    with pytest.raises(Unavailable, match="does not answer"):
        write(sink, 2, [(5, "a", 1.0)])
    postgresql.start()
    assert write(sink, 2, [(5, "a", 1.0)], run=2).new
    with pytest.raises(Superseded):
        write(sink, 3, [(6, "a", 1.0)], run=1)
    assert postgresql.sql("SELECT writer, run, batch FROM whorl_batches") == [["uid1.c", "2", "2"]]
    _static(session, postgresql)
    with pytest.raises(PipelineError, match="no unique index"):
        write(
            JdbcSink(url=postgresql.url, user=postgresql.user, table="people", key=("who",)), 3, [(7, "a", 1.0)], run=3
        )


def _static(session: SparkSession, postgresql: PostgreSql) -> None:
    """What is read once stays what it was, whatever becomes of the table."""
    source = JdbcSource(url=postgresql.url, user=postgresql.user, query="SELECT id, who FROM people WHERE id < 3")
    rows = table_rows(session, Input("people", source, "", JSON, None, ErrorPolicy()), str(Path("static").absolute()))
    postgresql.sql("DELETE FROM people WHERE id = 1")
    assert sorted(map(tuple, rows.collect())) == [(1, "c"), (2, "B")]


# -- Delta ----------------------------------------------------------------------------------------------------------------------------


def test_delta(write: Callable[..., Written], session: SparkSession) -> None:
    def there(path: str) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, session.read.format("delta").load(str(Path(path).absolute())).collect()))

    sink = DeltaSink(path="added")
    assert write(sink, 0, [(1, "a", 1.0)]).new
    assert not write(sink, 0, [(1, "a", 1.0)]).new
    session.sql(f"ALTER TABLE delta.`{Path('added').absolute()}` ADD CONSTRAINT positive CHECK (x > 0)")
    refused = write(
        sink, 1, [("2", "b", 2.0), ("x", "c", 1.0), ("3", "d", -1.0)], kinds="id string, who string, x double"
    ).refused
    assert ["does not fit bigint" in refused[0], "positive" in refused[1]] == [True, True]
    assert there("added") == [(1, "a", 1.0), (2, "b", 2.0)]

    merged = DeltaSink(path="merged", key=("id",))
    assert write(merged, 0, [(1, "a", 1.0), (1, "b", 1.0)]).new
    assert write(merged, 1, [(1, "c", 2.0), (2, "d", 2.0)]).new
    assert not write(merged, 1, [(1, "again", 2.0)]).new
    assert there("merged") == [(1, "c", 2.0), (2, "d", 2.0)]


# -- Hive -----------------------------------------------------------------------------------------------------------------------------


def test_hive_files_of_a_batch_that_broke_off(
    write: Callable[..., Written], session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same files without a metastore: `whorl run` has a real one."""
    session.sql(
        f"CREATE TABLE visits (id long, x double, who string) USING parquet PARTITIONED BY (who) LOCATION '{Path('visits').absolute()}'"
    )
    sink = HiveSink(table="visits", partition_by=("who",))
    assert write(sink, 0, [(1, "a", 1.0), (2, "b/c", 2.0)]).new
    moved: list[str] = []
    move = Folder.move

    def breaks_off(folder: Folder, name: str, to: str) -> None:
        if moved:
            raise OSError("the driver is gone")
        moved.append(to)
        move(folder, name, to)

    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(Folder, "move", breaks_off)
        write(sink, 1, [(3, "a", 1.0), (4, "d", 2.0)])
    assert write(sink, 1, [(3, "a", 1.0), (4, "d", 2.0)]).new
    assert not write(sink, 1, [(3, "a", 1.0)]).new
    assert sorted(map(tuple, session.table("visits").collect())) == [
        (1, 1.0, "a"),
        (2, 2.0, "b/c"),
        (3, 1.0, "a"),
        (4, 2.0, "d"),
    ]
    with pytest.raises(Superseded):
        write(sink, 2, [(5, "a", 1.0)], run=0)
    session.sql("DROP TABLE visits")


# -- HTTP -----------------------------------------------------------------------------------------------------------------------------


def test_http(write: Callable[..., Written], session: SparkSession) -> None:
    hook, rows = Webhook(), [(number, "a", 1.0) for number in range(5)]
    sink = HttpSink(url=hook.url)
    store = store_of(session, "out", sink)
    hook.answer = lambda body: {2: 404, 4: 503}.get(body["id"], 200)
    with pytest.raises(Unavailable, match="503"):
        write(sink, 0, rows, store=store)
    assert [key for key, _ in hook.told] == ["p/out/uid1/0/0", "p/out/uid1/0/1", "p/out/uid1/0/3"]
    hook.answer = lambda body: 200
    assert write(sink, 0, rows, store=store).new
    assert [body["id"] for _, body in hook.told] == [0, 1, 3, 4]
    hook.told.clear()
    write(HttpSink(url=hook.url, rows_per_request=3), 1, rows)
    assert [[row["id"] for row in body] for _, body in hook.told] == [[0, 1, 2], [3, 4]]
    hook.stop()
    with pytest.raises(Unavailable, match="does not answer"):
        write(sink, 2, rows)
