"""Walks over ten places: a pipeline that leads back into itself, and tells every step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Producer

from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

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


def walk_pipeline(folder: Path, source: str, sink: str) -> Path:
    (folder / "walks.py").write_text(WALK)
    file = folder / "walk.yaml"
    file.write_text(
        f"name: {source}\n"
        "sources:\n"
        f"  starts: {{type: kafka, topic: {source}, key: place, schema: {{place: string, walk: string, left: long}}}}\n"
        "operators:\n"
        "  - {id: walk, type: python, class: walks.Walk, key: place, outputs: [seen, on], from: [starts, walk.on]}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: walk.seen, format: json}}}}\n"
        "settings: {tasks: 2}\n"
    )
    return file


def start_walks(address: str, topic: str, steps: Mapping[str, int]) -> None:
    """`steps`: of each walk, by its name."""
    producer = Producer({"bootstrap.servers": address, "partitioner": "murmur2_random"})
    for walk, left in steps.items():
        producer.produce(topic, json.dumps({"place": "1", "walk": walk, "left": left}).encode(), b"1")
    assert producer.flush(10) == 0


def rows_of(address: str, topic: str) -> list[dict[str, object]]:
    return [json.loads(message.value()) for message in read_to_end(KafkaClients(address), [(topic, 0)])]
