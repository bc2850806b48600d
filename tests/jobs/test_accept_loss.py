"""A file that changes what was kept, against the real broker: it is labelled, refused, and taken once the loss is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from running import Running, whorl

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

pytestmark = pytest.mark.long


def test_an_operator_of_another_type_under_its_id(
    broker: Broker, whorl_run: Callable[..., Running], topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink = topic(2), topic(1)
    file = tmp_path / "total.yaml"
    text = (
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, key: k, format: json, schema: {{k: string, n: long}}}}}}\n"
        "operators: [{id: total, type: count, key: k, as: t}]\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}}}}}\nsettings: {{tasks: 1}}\n"
    )
    file.write_text(text)

    def run(*arguments: str) -> Running:
        producer = Producer({"bootstrap.servers": broker.address, "partitioner": "murmur2_random"})
        producer.produce(source, b'{"k": "a", "n": 5}', b"a")
        producer.flush()
        running = whorl_run(file, "--until-caught-up", *arguments)
        running.wait(120)
        return running

    first = run()
    assert first.process.returncode == 0, first.output
    file.write_text(text.replace("type: count", "type: sum, of: n"))
    changes = whorl(broker.address, tmp_path, "plan", str(file), "--changes")
    assert "loses state" in changes and "keeps state as 'count', and is 'sum' now" in changes
    refused = run()
    assert refused.process.returncode == 3 and "[state-lost]" in refused.output, refused.output
    taken = run("--accept-loss", "total")
    assert taken.process.returncode == 0, taken.output
    written = read_to_end(KafkaClients(broker.address), [(sink, 0)])
    assert [json.loads(message.value())["t"] for message in written] == [1, 5, 10]
    assert "nothing of what it keeps" in whorl(broker.address, tmp_path, "plan", str(file), "--changes")
    shown = whorl(broker.address, tmp_path, "rescale", source, "--partitions", "1", "--tasks", "1", "--dry-run")
    assert "2 -> 1" in shown and "nothing was changed" in shown
    assert json.loads(whorl(broker.address, tmp_path, "state", "list", source, "--format", "json"))["lps"] == 2
