"""An operator with state in a query, as a user runs it: twice, until all is read, though its timers go by the clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer
from running import Running

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster

CODE = """
from whorl import KeyedOperator, ValueState


class Counting(KeyedOperator):
    seen = ValueState(int)

    def process(self, key, record, context):
        seen = self.seen.update(lambda before: (before or 0) + 1)
        context.timers.after("1h")
        if record["n"] < 0:
            raise ValueError(f"{record['n']} is negative")
        context.emit({"who": key, "seen": seen})

    def on_timer(self, key, time, context):
        self.seen.clear()
"""


@pytest.mark.long
def test_it_goes_on_where_it_ended(
    broker: Broker, topic: Callable[..., str], whorl_run: Callable[..., Running], tmp_path: Path
) -> None:
    source, sink = topic(2), topic(2)
    (tmp_path / "clocked.py").write_text(CODE)
    file = tmp_path / "counting.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, key: who, schema: {{who: string, n: long}}}}}}\n"
        "operators:\n"
        "  - {id: seen, type: python, class: clocked.Counting, from: in, key: who, host: query, returns: {who: string, seen: long}}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: seen}}}}\n"
        "settings: {partitions: 2}\n"
    )
    producer = Producer({"bootstrap.servers": broker.address, "partitioner": "murmur2_random"})
    for numbers in ((1, 2, 3), (4, -5, 6)):
        for n in numbers:
            for who in ("a", "b"):
                producer.produce(source, orjson.dumps({"who": who, "n": n}), who)
        producer.flush()
        running = whorl_run(file, "--until-caught-up")
        assert running.wait(400) == 0, running.output
    made = [(each.key(), orjson.loads(each.value())["seen"]) for each in _all(broker, sink)]
    assert sorted(made) == [(key, seen) for key in (b"a", b"b") for seen in (1, 2, 3, 4, 5)]
    letters = [dict(each.headers()) for each in _all(broker, f"{source}.dead")]
    assert [(letter["whorl-operator"], letter["whorl-topic"]) for letter in letters] == [(b"seen", source.encode())] * 2


def _all(broker: Broker, topic: str) -> list[Any]:
    cluster = Cluster(KafkaClients(broker.address))
    return list(read_to_end(cluster.clients, [(topic, p) for p in range(cluster.partition_counts()[topic])]))
