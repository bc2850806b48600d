"""The job store: every change is one transaction, and only what is on disk is believed.

Whoever leads takes the next epoch first, and every later change is made under it: a leader that was asleep while another took over cannot
write any more. A disk that is full makes the change fail, and leaves all as it was, in memory too.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whorl.errors import Superseded, WorldError
from whorl.server.records import JobRecord
from whorl.server.schemas import Failure, Operation

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, number INTEGER NOT NULL, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS operations (id TEXT PRIMARY KEY, job TEXT NOT NULL, begun REAL NOT NULL, operation TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS failures (number INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, failure TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS failures_of_job ON failures (job, number);
INSERT OR IGNORE INTO meta VALUES ('epoch', 0), ('version', 1), ('number', 0);
"""
_MOST_FAILURES = 500
"""Kept of a job."""


class Store:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._epoch = -1
        self._jobs: dict[str, JobRecord] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._told():
            self._sql = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._sql.execute("PRAGMA journal_mode=WAL")
            self._sql.execute("PRAGMA synchronous=FULL")
            self._sql.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._sql.close()

    # -- who writes -------------------------------------------------------------------------------------------------------------------

    def take(self) -> int:
        """From here on this one writes, and nobody who wrote before."""
        with self._lock, self._told():
            self._sql.execute("BEGIN IMMEDIATE")
            self._epoch = self._read_epoch() + 1
            self._sql.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (self._epoch,))
            self._sql.execute("COMMIT")
            rows = self._sql.execute("SELECT record FROM jobs ORDER BY number").fetchall()
            self._jobs = {record.id: record for (text,) in rows if (record := JobRecord.model_validate_json(text))}
        return self._epoch

    def still_leads(self) -> None:
        """Raises where another has taken the store."""
        with self._lock, self._told():
            self._refuse_fenced()

    def _refuse_fenced(self) -> None:
        if self._read_epoch() != self._epoch:
            hint = "it answers no more; ask the one that leads"
            raise Superseded("another job server leads now, this one writes no more", hint=hint, code="fenced")

    def _read_epoch(self) -> int:
        return int(self._sql.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchone()[0])

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._told():
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                self._refuse_fenced()
                yield self._sql
                self._sql.execute("COMMIT")
            except BaseException:
                if self._sql.in_transaction:
                    self._sql.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            hint = "nothing was changed; make room there, or mend it, and try again"
            what = f"the job store '{self.path}' fails: {error}"
            if "full" in str(error):
                raise WorldError(what, hint=hint, code="disk-full") from error
            raise WorldError(what, hint=hint, code="job-store") from error

    # -- jobs -------------------------------------------------------------------------------------------------------------------------

    def add(self, record: JobRecord) -> None:
        with self._change() as sql:
            sql.execute("UPDATE meta SET value = value + 1 WHERE name = 'number'")
            number = sql.execute("SELECT value FROM meta WHERE name = 'number'").fetchone()[0]
            sql.execute("INSERT INTO jobs VALUES (?, ?, ?)", (record.id, number, record.model_dump_json()))
        self._jobs[record.id] = record

    def put(self, record: JobRecord, *failures: Failure) -> None:
        """With failures that led to it."""
        with self._change() as sql:
            sql.execute("UPDATE jobs SET record = ? WHERE id = ?", (record.model_dump_json(), record.id))
            _add_failures(sql, record.id, failures)
        self._jobs[record.id] = record

    def delete(self, id: str) -> None:
        with self._change() as sql:
            sql.execute("DELETE FROM jobs WHERE id = ?", (id,))
            sql.execute("DELETE FROM operations WHERE job = ?", (id,))
            sql.execute("DELETE FROM failures WHERE job = ?", (id,))
        self._jobs.pop(id, None)

    def jobs(self) -> list[JobRecord]:
        """Oldest first."""
        return list(self._jobs.values())

    def job(self, id: str) -> JobRecord | None:
        return self._jobs.get(id)

    # -- what happened to them --------------------------------------------------------------------------------------------------------

    def add_failures(self, job: str, failures: list[Failure]) -> None:
        with self._change() as sql:
            _add_failures(sql, job, failures)

    def failures(self, job: str) -> list[Failure]:
        """Newest first."""
        with self._lock, self._told():
            rows = self._sql.execute(
                "SELECT failure FROM failures WHERE job = ? ORDER BY number DESC", (job,)
            ).fetchall()
        return [Failure.model_validate_json(text) for (text,) in rows]

    def put_operation(self, operation: Operation) -> None:
        row = (operation.id, operation.job, operation.begun, operation.model_dump_json())
        with self._change() as sql:
            sql.execute("INSERT OR REPLACE INTO operations VALUES (?, ?, ?, ?)", row)

    def operations(self, job: str | None = None) -> list[Operation]:
        """Newest first."""
        with self._lock, self._told():
            where = "WHERE job = ? " if job else ""
            found = self._sql.execute(
                f"SELECT operation FROM operations {where}ORDER BY begun DESC", (job,) if job else ()
            ).fetchall()
        return [Operation.model_validate_json(text) for (text,) in found]

    def operation(self, id: str) -> Operation | None:
        with self._lock, self._told():
            row = self._sql.execute("SELECT operation FROM operations WHERE id = ?", (id,)).fetchone()
        return Operation.model_validate_json(row[0]) if row else None


def _add_failures(sql: sqlite3.Connection, job: str, failures: tuple[Failure, ...] | list[Failure]) -> None:
    rows = [(job, failure.model_dump_json()) for failure in failures]
    if not rows:
        return
    sql.executemany("INSERT INTO failures (job, failure) VALUES (?, ?)", rows)
    newest = "SELECT number FROM failures WHERE job = ? ORDER BY number DESC LIMIT ?"
    sql.execute(f"DELETE FROM failures WHERE job = ? AND number NOT IN ({newest})", (job, job, _MOST_FAILURES))
