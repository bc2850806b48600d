"""A savepoint taken on one host, resumed on the other, and back: counts and timers go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running, whorl

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


def test_there_and_back(
    broker: Broker, whorl_run: Callable[..., Running], topic: Callable[..., str], tmp_path: Path
) -> None:
    name, sink, file = topic(2), topic(2), tmp_path / "visits.yaml"
    (tmp_path / "visiting.py").write_text(OPERATOR)
    came: list[str] = []

    def stretch(host: str, hour: int, resumed: str = "") -> None:
        """Two clicks of each user, processed on this host."""
        file.write_text(PIPELINE.format(name=name, sink=sink, host=host))
        lines = [
            f'{{"user": "{user}", "page": "{page}", "at": "2026-11-16T{hour:02}:00:00Z"}}'
            for user in ("ann", "bob", "cleo")
            for page in ("/", f"/{hour}")
        ]
        (tmp_path / "clicks").write_text("\n".join(lines))
        whorl(broker.address, tmp_path, "produce", name, "clicks", "--key", "user")
        what = [f"{name}/{resumed}"] if resumed else []
        running = whorl_run(file, *what, "--until-caught-up", verb="resume" if resumed else "run")
        assert running.wait(120) == 0, running.output
        rows = sorted(m.value().decode() for m in read_to_end(KafkaClients(broker.address), [(sink, 0), (sink, 1)]))
        assert rows[len(came) :] or rows
        came[:] = rows

    def of(user: str, visits: int, here: int | None) -> str:
        return f'{{"user":"{user}","visits":{visits},"here":{"null" if here is None else here}}}'

    users = ("ann", "bob", "cleo")
    stretch("tasks", 8)
    whorl(broker.address, tmp_path, "savepoint", name, "one")
    stretch("query", 9, "one")
    expected = [of(user, n, here) for user in users for n, here in ((1, 1), (2, 1), (3, 2), (4, 1))]
    assert came == sorted(expected)
    whorl(broker.address, tmp_path, "savepoint", name, "two")
    stretch("tasks", 23, "two")
    expected += [of(user, n, here) for user in users for n, here in ((5, 3), (6, 1))]
    rings = [row for row in came if "null" in row]
    assert sorted(row for row in came if "null" not in row) == sorted(expected)
    assert rings and {row.split('"')[3] for row in rings} <= set(users)
