"""A loop on Spark and Kafka, a worker of which is killed: every step once, and the run ends by itself when nothing is left to do."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from running import Running, eventually

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
STEPS = 600
STEPS_OF = {"a": STEPS, "b": STEPS // 2}
WALK = """
from whorl import KeyedOperator, ValueState

class Walk(KeyedOperator):
    visits = ValueState(int)

    def process(self, key, record, context):
        visits = self.visits.update(lambda before: (before or 0) + 1)
        context.emit({**record, "round": context.round, "visits": visits}, to="seen")
        if record["left"]:
            place = str((int(key) + 7) % 10)
            context.emit({"place": place, "walk": record["walk"], "left": record["left"] - 1}, to="on")
"""


def rows_of(address: str, topic: str) -> list[dict[str, object]]:
    return [json.loads(message.value()) for message in read_to_end(KafkaClients(address), [(topic, 0)])]


def test_a_walk_over_two_tasks(
    broker: Broker, tmp_path: Path, topic: Callable[..., str], whorl_run: Callable[..., Running]
) -> None:
    source, sink = topic(4), topic(1)
    (tmp_path / "walks.py").write_text(WALK)
    file = tmp_path / "walk.yaml"
    file.write_text(
        f"name: {source}\n"
        "sources:\n"
        f"  starts: {{type: kafka, topic: {source}, key: place, schema: {{place: string, walk: string, left: long}}}}\n"
        "operators:\n"
        "  - {id: walk, type: python, class: walks.Walk, key: place, outputs: [seen, on], from: [starts, walk.on]}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: walk.seen, format: json}}}}\n"
        "settings: {tasks: 2}\n"
    )
    producer = Producer({"bootstrap.servers": broker.address, "partitioner": "murmur2_random"})
    for walk, left in STEPS_OF.items():
        producer.produce(source, json.dumps({"place": "1", "walk": walk, "left": left}).encode(), b"1")
    assert producer.flush(10) == 0
    running = whorl_run(file, "--until-quiet")
    eventually(lambda: len(rows_of(broker.address, sink)) > 60, 300, f"the first steps: {running.output}")
    os.kill(running.workers()[0], signal.SIGKILL)
    assert running.wait(300) == 0, running.output
    seen = rows_of(broker.address, sink)
    assert Counter((row["walk"], row["round"]) for row in seen) == Counter(
        (walk, round) for walk, steps in STEPS_OF.items() for round in range(steps + 1)
    )
    places = Counter(row["place"] for row in seen)
    assert {place: max(int(str(row["visits"])) for row in seen if row["place"] == place) for place in places} == places
    quiet = next(line for line in running.lines if ": quiet after" in line)
    assert f"quiet after {STEPS:,} rounds" in quiet, quiet
    assert any("active keys" in line for line in running.lines), running.output
