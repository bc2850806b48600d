"""Which topics of jobs are tables, and on whose broker one is read."""

from __future__ import annotations

from typing import Any

import pytest

import whorl.server.tables as tables
from whorl.errors import WorldError
from whorl.reading.live import Row, Rows
from whorl.server.records import Inspected, JobRecord
from whorl.server.tables import Tables


def record(id: str, broker: str, *outputs: dict[str, Any], **publishes: str) -> JobRecord:
    component = {"outputs": list(outputs), **({"publishes": publishes} if publishes else {})}
    known = Inspected(pipeline=f"p-{id}", plan={"components": [component]}, settings={"broker": broker})
    return JobRecord(id=id, name=id, pipeline=f"p-{id}", file="f", bundle="b", settings=[], known=known, created=0.0)


def output(topic: str, type: str = "sink", key: tuple[str, ...] = ("k",)) -> dict[str, Any]:
    return {"type": type, "topic": topic, "key": list(key), "columns": {"k": "string"}}


class Jobs:
    def __init__(self, *records: JobRecord) -> None:
        self._records = list(records)

    def jobs(self) -> list[JobRecord]:
        return self._records


class Copies:
    """In place of copies: notes where each is read."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def of(self, broker: str, clients: object, topic: str) -> Any:
        self.read.append((broker, topic))
        return self

    def row(self, key: str) -> Row | None:
        return Row(key, {"n": 1}, 2, 3) if key == "there" else None

    def rows(self, limit: int, offset: int, sort: str) -> Rows:
        return Rows(9, (Row("a", 1, 0, 5),))

    def close(self) -> None:
        self.read.clear()


def made(jobs: Jobs, broker: str | None, monkeypatch: pytest.MonkeyPatch) -> tuple[Tables, Copies]:
    copies = Copies()
    monkeypatch.setattr(tables, "LiveTables", lambda: copies)
    return Tables(jobs, broker), copies  # type: ignore[arg-type]


def test_sinks_with_a_key_and_what_is_published_are_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    old = record("old", "one:1", output("totals"), output("log", key=()), output("p.a_b", "edge"))
    new = record("new", "two:2", output("totals"), seen="who")
    found, _ = made(Jobs(old, new), None, monkeypatch)
    names = {each.topic: (each.job, each.columns) for each in found.names()}
    assert names == {"totals": ("new", {"k": "string"}), "who": ("new", {})}


def test_a_table_is_read_where_its_job_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(record("a", "one:1", output("totals")), record("b", "two:2", output("others")))
    found, copies = made(jobs, None, monkeypatch)
    assert found.entry("totals", "there").model_dump(exclude={"operator"}) == {
        "key": "there",
        "value": {"n": 1},
        "lp": 2,
        "position": 3,
    }
    page = found.page("unknown", 10, 4, "-n")
    assert (page.total, page.offset, page.rows[0].key) == (9, 4, "a")
    assert copies.read == [("one:1", "totals"), ("two:2", "unknown")], "of the newest job where nobody fills it"
    own, copies = made(jobs, "mine:3", monkeypatch)
    own.page("unknown", 10, 0, "")
    own.page("totals", 10, 0, "")
    assert copies.read == [("mine:3", "unknown"), ("one:1", "totals")]


def test_a_key_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = made(Jobs(record("a", "one:1", output("totals"))), None, monkeypatch)
    with pytest.raises(WorldError, match="has nothing for key 'gone'"):
        found.entry("totals", "gone")
