"""A savepoint taken on one host, resumed on the other, and back: counts and timers go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running, count_committed, eventually, whorl

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

pytestmark = pytest.mark.long
OPERATOR = """
from whorl import KeyedOperator, MapState, ValueState

class Visits(KeyedOperator):
    count = ValueState(int)
    pages = MapState(str, int)

    def process(self, key, record, context):
        count = self.count.update(lambda before: (before or 0) + 1)
        self.pages[record["page"]] = self.pages.get(record["page"], 0) + 1
        if count == 1:
            context.timers.at(record["at"].replace(hour=23))
        context.emit({"user": key, "visits": count, "here": self.pages[record["page"]]})

    def on_timer(self, key, time, context):
        context.emit({"user": key, "visits": self.count.get(), "here": None})
"""
PIPELINE = """
name: {name}
sources:
  clicks:
    type: kafka
    topic: {name}
    key: user
    schema: {{user: string, page: string, at: timestamp}}
    watermark: {{column: at, delay: 0s}}
operators:
  - id: visits
    type: python
    class: visiting.Visits
    from: clicks
    key: user
    host: {host}
    returns: {{user: string, visits: long, here: long}}
sinks: {{out: {{type: kafka, topic: {sink}, from: visits}}}}
settings: {{tasks: 1}}
"""


USERS = ("ann", "bob", "cleo")


def test_there_and_back(
    broker: Broker, whorl_run: Callable[..., Running], topic: Callable[..., str], tmp_path: Path
) -> None:
    name, sink, file = topic(2), topic(2), tmp_path / "visits.yaml"
    (tmp_path / "visiting.py").write_text(OPERATOR)

    def stretch(host: str, clicks: list[str], rows: int, saved: str, resumed: str = "") -> None:
        """Clicks that are processed on this host until there are so many rows; then it is saved and stopped."""
        file.write_text(PIPELINE.format(name=name, sink=sink, host=host))
        (tmp_path / "clicks").write_text("\n".join(clicks))
        whorl(broker.address, tmp_path, "produce", name, "clicks", "--key", "user")
        what = [f"{name}/{resumed}"] if resumed else []
        running = whorl_run(file, *what, verb="resume" if resumed else "run")
        eventually(lambda: count_committed(broker.address, sink) >= rows or running.process.poll(), 120, "all rows")
        assert running.process.poll() is None, running.output
        whorl(broker.address, tmp_path, "stop", name, saved)
        assert running.wait() == 0, running.output

    stretch("tasks", _clicks(8, *USERS, "dora"), 8, "one")
    stretch("query", _clicks(9, *USERS), 14, "two", "one")
    kept = whorl(broker.address, tmp_path, "state", "scan", name, "visits", "--state", "count")
    assert {row["key"]: row["value"] for row in map(json.loads, kept.splitlines())} == VISITS
    stretch("tasks", _clicks(23, *USERS), 24, "three", "two")
    rows = [json.loads(m.value()) for m in read_to_end(KafkaClients(broker.address), [(sink, 0), (sink, 1)])]
    rung = {row["user"]: row["visits"] for row in rows if row["here"] is None}
    seen = {
        user: [(row["visits"], row["here"]) for row in rows if row["user"] == user and row["here"]] for user in VISITS
    }
    assert len(rows) == 24 and rung == VISITS
    went = [(1, 1), (2, 1), (3, 2), (4, 1), (5, 3), (6, 1)]
    assert seen == {**dict.fromkeys(USERS, went), "dora": went[:2]}


VISITS = {**dict.fromkeys(USERS, 4), "dora": 2}
"""As they are when the query is saved, and when the timers ring."""


def _clicks(hour: int, *users: str) -> list[str]:
    """Two of each: of a page that is in all stretches, and of one that is in this."""
    at = f"2026-01-05T{hour:02}:00:00Z"
    return [json.dumps({"user": user, "page": page, "at": at}) for user in users for page in ("/", f"/{hour}")]
