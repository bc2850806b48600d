"""Four pipelines at once share nothing; what their former lives left is cleaned while they run, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running, eventually, whorl

from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster
from whorl.tasks.register import registrations

pytestmark = pytest.mark.long
PIPELINE = """
name: {name}
sources: {{in: {{type: kafka, topic: {source}, schema: {{k: string, n: long}}, key: k}}}}
operators:
{operators}
sinks: {{out: {{type: kafka, topic: {sink}}}}}
settings: {{tasks: 1, partitions: 1, checkpoints: {root}/checkpoints, state: {{dir: {root}/state}}, cleaner: {{interval: 1s, retention: 1s}}}}
"""
TASKS = "  - {id: total, type: count, key: k, keep: n}"
QUERY = "  - {id: total, type: sql, query: 'SELECT k, n, true AS seen FROM in'}"
COUNT = 4


def test_former_lives_are_cleaned_and_the_running_one_is_not(
    tmp_path: Path, broker: Broker, topic: Callable[..., str], whorl_run: Callable[..., Running]
) -> None:
    cluster = Cluster(KafkaClients(broker.address))
    source, base = topic(), topic()
    files = [
        _pipeline(tmp_path, f"{base}-{n}", source, topic(), TASKS if n < COUNT - 1 else QUERY) for n in range(COUNT)
    ]
    _write(broker, source, range(5))
    # A former life of the one with a query: its checkpoint and topics lie there when it starts over.
    first = whorl_run(files[-1], "--until-caught-up")
    assert first.wait(180) == 0, first.output
    (former,) = (tmp_path / "checkpoints").iterdir()
    old = {name for name in cluster.partition_counts() if former.name[-12:] in name}
    assert old and all(name.startswith("whorl.") for name in old)

    running = [whorl_run(file, *(["--fresh"] if file is files[-1] else [])) for file in files]
    for file in files:
        eventually(
            lambda file=file: len(_read(broker, _sink(file))) >= _expected(file, files), 180, f"rows of {file.name}"
        )
    eventually(
        lambda: not former.exists() and not old & set(cluster.partition_counts()), 120, "the former life is gone"
    )
    lives = {name: each.uid for name, each in registrations(cluster.clients).items() if name.startswith(base)}
    assert len(set(lives.values())) == COUNT
    _write(broker, source, range(5, 10))
    for file in files:
        eventually(lambda file=file: len(_read(broker, _sink(file))) == _expected(file, files) + 5, 120, "goes on")
    told = whorl(broker.address, tmp_path, "clean", "--dry-run", "--set", f"checkpoints={tmp_path}/checkpoints", "--set", "cleaner.retention=1s")  # fmt: skip
    assert base not in told
    for each in running:
        assert each.stop() == 0, each.output
    assert "cleaned: checkpoint" in running[-1].output
    assert {path.name for path in (tmp_path / "state").iterdir()} == {file.stem for file in files[:-1]}
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [f"{files[-1].stem}-{lives[files[-1].stem]}"]


def _pipeline(folder: Path, name: str, source: str, sink: str, operators: str) -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(PIPELINE.format(name=name, source=source, sink=sink, operators=operators, root=folder))
    return file


def _sink(file: Path) -> str:
    return file.read_text().split("sinks: {out: {type: kafka, topic: ")[1].split("}")[0]


def _expected(file: Path, files: list[Path]) -> int:
    """The one that starts over writes its first five again."""
    return 10 if file is files[-1] else 5


def _write(broker: Broker, topic: str, numbers: range) -> None:
    producer = KafkaClients(broker.address).producer()
    for n in numbers:
        producer.produce(topic, json.dumps({"k": f"k{n}", "n": n}).encode(), f"k{n}".encode())
    assert producer.flush(30) == 0


def _read(broker: Broker, topic: str) -> list[object]:
    return list(read_to_end(KafkaClients(broker.address), [(topic, 0)]))
