"""Everything that a query writes beside topics, by `whorl run` against real servers: each payment is in each sink once.

PostgreSQL goes away and comes back, a row of a table that is joined changes, and data and checkpoints are on HDFS.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from running import Running, eventually
from tests.servers.hdfs import Hdfs
from tests.servers.postgresql import BINARIES, PostgreSql
from tests.servers.webhook import Webhook

from whorl.broker import Broker

PIPELINE = """
name: {source}
sources:
  payments: {{type: kafka, topic: {source}, schema: {{id: long, account: string, amount: long, country: string}}}}{sources}
operators: [{operators}]
sinks:
{sinks}
settings: {{checkpoints: '{checkpoints}', partitions: 2, trigger: 1s}}
"""
pytestmark = pytest.mark.spark
needs_postgresql = pytest.mark.skipif(not BINARIES, reason="PostgreSQL is not installed: make tools")


@pytest.fixture
def postgresql() -> Iterator[PostgreSql]:
    server = PostgreSql()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def hook() -> Iterator[Webhook]:
    server = Webhook()
    yield server
    server.stop()


@pytest.fixture
def hdfs(tmp_path: Path) -> Iterator[Hdfs]:
    server = Hdfs(tmp_path / "hdfs")
    yield server
    server.stop()


class Payments:
    """A topic of payments, and a pipeline that reads it."""

    def __init__(self, address: str, topic: str, folder: Path, run: Callable[..., Running]) -> None:
        self._producer, self._topic, self.written = Producer({"bootstrap.servers": address}), topic, 0
        self._folder, self._run = folder, run

    def write(self, count: int) -> bool:
        for id in range(self.written, self.written + count):
            row = {"id": id, "account": "ab"[id % 2], "amount": id, "country": ["NL", "B/E"][id % 2]}
            self._producer.produce(self._topic, json.dumps(row))
        assert self._producer.flush(30) == 0
        self.written += count
        return True

    @property
    def ids(self) -> list[int]:
        return list(range(self.written))

    def into(
        self, sinks: str, operators: str = "", sources: str = "", checkpoints: str = ".whorl/checkpoints"
    ) -> Running:
        file = self._folder / "pipeline.yaml"
        parts = {"sinks": sinks, "operators": operators, "sources": sources, "checkpoints": checkpoints}
        file.write_text(PIPELINE.format(source=self._topic, **parts))
        return self._run(file)


@pytest.fixture
def payments(broker: Broker, topic: Callable[..., str], tmp_path: Path, whorl_run: Callable[..., Running]) -> Payments:
    return Payments(broker.address, topic(2), tmp_path, whorl_run)


@needs_postgresql
def test_postgresql_goes_away_and_comes_back(payments: Payments, postgresql: PostgreSql) -> None:
    running = payments.into(
        f"  totals: {{type: jdbc, url: '{postgresql.url}', user: {postgresql.user}, table: totals, key: account}}",
        "{id: total, type: aggregate, by: [account], columns: {n: count(*), amount: sum(amount)}}",
    )
    payments.write(10)
    totals = "SELECT account, n, amount FROM totals ORDER BY account"
    awaited(running, lambda: postgresql.sql("SELECT 1 FROM pg_tables WHERE tablename = 'totals'"))
    awaited(running, lambda: postgresql.sql(totals) == [["a", "5", "20"], ["b", "5", "25"]])
    postgresql.stop()
    payments.write(10)
    awaited(running, lambda: "sink 'totals' waits" in running.output)
    postgresql.start()
    awaited(running, lambda: postgresql.sql(totals) == [["a", "10", "90"], ["b", "10", "100"]])
    awaited(running, lambda: "sink 'totals' goes on" in running.output)
    assert running.stop() == 0, running.output
    assert running.output.count("sink 'totals' waits") == 1, running.output
    assert "Traceback" not in running.output


@needs_postgresql
@pytest.mark.long
def test_a_table_is_read_again_and_a_webhook_hears_of_it(
    payments: Payments, postgresql: PostgreSql, hook: Webhook
) -> None:
    """Each payment once, with the name of its time; the one that the server refuses is a dead letter."""
    postgresql.sql(
        "CREATE TABLE accounts (account text, name text); INSERT INTO accounts VALUES ('a', 'Ada'), ('b', 'Bo')"
    )
    hook.answer = lambda body: 404 if body["id"] == 3 else 200
    table = (
        f"url: '{postgresql.url}', user: {postgresql.user}, table: accounts, schema: {{account: string, name: string}}"
    )
    running = payments.into(
        f"  hook: {{type: http, url: '{hook.url}'}}",
        "{id: named, type: join, from: [payments, accounts], on: account, kind: left}",
        f"\n  accounts: {{type: jdbc, {table}, refresh: 2s}}",
    )
    payments.write(10)
    awaited(running, lambda: _told(hook) == set(payments.ids) - {3})
    postgresql.sql("UPDATE accounts SET name = 'Adele' WHERE account = 'a'")
    awaited(running, lambda: payments.write(2) and _names(hook) >= {"Ada", "Adele"}, pause=2)
    awaited(running, lambda: _told(hook) == set(payments.ids) - {3})
    assert running.stop() == 0, running.output
    assert len({key for key, _ in hook.told}) == len(hook.told) == payments.written - 1
    assert "to '" in running.output and ".dead'" in running.output


@pytest.mark.long
def test_hive(payments: Payments, tmp_path: Path) -> None:
    running = payments.into("  visits: {type: hive, table: visits, partition_by: country}")
    for count in (10, 7):
        payments.write(count)
        awaited(running, lambda: _hive(tmp_path) == payments.ids)
    assert running.stop() == 0, running.output


@pytest.mark.long
def test_delta(payments: Payments, tmp_path: Path) -> None:
    running = payments.into("  lake: {type: delta, path: lake}")
    for count in (10, 7):
        payments.write(count)
        awaited(running, lambda: _delta(tmp_path / "lake") == payments.ids)
    assert running.stop() == 0, running.output


def test_files_and_checkpoints_on_hdfs(payments: Payments, hdfs: Hdfs) -> None:
    """After a stop it goes on where it was, by the checkpoint there."""
    for _ in range(2):
        running = payments.into(
            f"  files: {{type: file, path: '{hdfs.url}/files'}}", checkpoints=f"{hdfs.url}/checkpoints"
        )
        payments.write(10)
        awaited(running, lambda: hdfs.rows("/files") == payments.written)
        awaited(running, partial(_has_ended_a_batch, running))
        assert running.stop() == 0, running.output
    assert hdfs.rows("/files") == payments.written == 20


def _has_ended_a_batch(running: Running) -> bool:
    """One whose end is not noted yet would be written again, beside what it has written."""
    return ", read " in running.output


def awaited(running: Running, condition: Callable[[], Any], pause: float = 0.2) -> None:
    try:
        eventually(lambda: running.process.poll() is not None or condition(), within=400, pause=pause)
    except AssertionError:
        raise AssertionError(running.output) from None
    assert running.process.poll() is None, running.output


def _told(hook: Webhook) -> set[int]:
    return {body["id"] for _, body in hook.told}


def _names(hook: Webhook) -> set[str]:
    return {body["name"] for _, body in hook.told}


def _delta(folder: Path) -> list[int]:
    """The rows of the last version, by Delta's own log."""
    logs = [
        json.loads(line) for log in sorted(folder.glob("_delta_log/*.json")) for line in log.read_text().splitlines()
    ]
    added: list[Any] = [entry["add"]["path"] for entry in logs if "add" in entry]
    return sorted(id for path in added for id in pq.read_table(folder / path).column("id").to_pylist())


def _hive(folder: Path) -> list[int]:
    files = folder.glob(".whorl/warehouse/visits/country=*/*.parquet")
    return sorted(id for path in files for id in pq.ParquetFile(path).read().column("id").to_pylist())
