"""Columns found at the first start, pinned for the second, and records that drift in between: on both hosts, against the real broker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running, whorl

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster
from whorl.plan.naming import DEAD_ERROR
from whorl.schemas.published import of_topic, pin, published

pytestmark = pytest.mark.long
PIPELINE = """
name: {name}
sources:
  tasked: {{type: kafka, topic: {tasked}, schema: infer, drift: dead_letter}}
  queried: {{type: kafka, topic: {queried}, schema: infer, drift: dead_letter}}
  grown: {{type: kafka, topic: {grown}, schema: infer, drift: add}}
operators:
  - {{id: by_task, type: filter, from: tasked, where: n > 0, host: tasks}}
  - {{id: by_query, type: sql, query: "SELECT n, word FROM queried WHERE n > 0"}}
  - {{id: more, type: filter, from: grown, where: n > 0, host: tasks}}
sinks:
  a: {{type: kafka, topic: {out}, from: [by_task, by_query, more]}}
settings: {{tasks: 1, dead_letter_topic: {dead}}}
"""


def test_columns_are_pinned_and_drift_is_told(
    tmp_path: Path, broker: Broker, topic: Callable[..., str], whorl_run: Callable[..., Running]
) -> None:
    tasked, queried, grown, out, dead = (topic() for _ in range(5))
    file = tmp_path / "drift.yaml"
    file.write_text(PIPELINE.format(name=tasked, tasked=tasked, queried=queried, grown=grown, out=out, dead=dead))
    sources = (tasked, queried, grown)
    for source in sources:
        _write(broker, source, {"n": 1, "word": "a"}, {"n": 2, "word": None})
    first = whorl_run(file, "--until-caught-up")
    assert first.wait(120) == 0, first.output
    assert "source 'tasked': columns sampled (2 records of" in first.output
    known = published(Cluster(KafkaClients(broker.address)))
    assert known[pin(tasked, "tasked")].columns == known[of_topic(queried)].columns == {"n": "long", "word": "string"}
    assert known[of_topic(out)].columns == {"n": "long", "word": "string"}

    for source in sources:
        _write(broker, source, {"n": 3, "word": "b"}, {"n": 4, "word": "c", "coupon": "X"}, {"n": "five", "word": "d"})
    second = whorl_run(file, "--until-caught-up")
    assert second.wait(120) == 0, second.output
    assert "columns pinned (2 records of" in second.output
    for source in ("tasked", "queried", "grown"):
        assert f"schema drift in source '{source}': new column 'coupon' string" in second.output
        assert f"schema drift in source '{source}': column 'n' is string now, it was long" in second.output
    assert sorted(row["n"] for row in _read(broker, out)) == [
        1,
        1,
        1,
        2,
        2,
        2,
        3,
        3,
        3,
        4,
    ]  # the last is that of `grown`
    errors = sorted(header.decode() for header in _errors(broker, dead))
    assert sum("column 'coupon' is new" in error for error in errors) == 2
    assert sum("column 'n'" in error for error in errors) == 3 and len(errors) == 5
    pinned = published(Cluster(KafkaClients(broker.address)))
    assert pinned[pin(tasked, "grown")].columns == {"n": "long", "word": "string", "coupon": "string"}
    assert pinned[pin(tasked, "tasked")].columns == {"n": "long", "word": "string"}
    shown = whorl(broker.address, tmp_path, "schema", "infer", queried)
    assert "coupon" in shown and "5 rows looked at" in shown


def _write(broker: Broker, topic: str, *rows: dict[str, object]) -> None:
    producer = KafkaClients(broker.address).producer()
    for row in rows:
        producer.produce(topic, json.dumps(row).encode())
    assert producer.flush(30) == 0


def _read(broker: Broker, topic: str) -> list[dict[str, object]]:
    return [json.loads(message.value()) for message in read_to_end(KafkaClients(broker.address), [(topic, 0)])]


def _errors(broker: Broker, topic: str) -> list[bytes]:
    messages = read_to_end(KafkaClients(broker.address), [(topic, 0)])
    return [dict(message.headers())[DEAD_ERROR] for message in messages]
