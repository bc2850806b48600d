"""A StreamProcessor with a real broker and a real Spark; and how its tasks read and write, in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from whorl.broker import Broker
from whorl.errors import PipelineError, Unavailable
from whorl.processor.records import KafkaRecord, read_part
from whorl.processor.writing import produce_all
from whorl.testing.memory import MemoryBroker, MemoryClients

HERE = Path(__file__).parent
EXAMPLE = HERE.parent.parent / "examples" / "processor"
SAID = """\
delft: 2 sales, 19.75 euros
gouda: 1 sales, 3.00 euros
committed {'sales': {'0': 4}}, 2 wait
gouda: 1 sales, 1.00 euros
leiden: 1 sales, 20.00 euros
committed {'sales': {'0': 6}}, 0 wait
committed {'sales': {'0': 6}}, 0 wait
"""
"""What the example prints, and docs/processor.md shows."""
SCENES = 7


def run(*words: str, cwd: Path = HERE) -> str:
    done = subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.kafka
@pytest.mark.spark
def test_all_scenes(broker: Broker, tmp_path: Path) -> None:
    said = run("scenes.py", broker.address, str(tmp_path))
    assert [line.split()[0] for line in said.splitlines()] == ["ok"] * SCENES, said


@pytest.mark.kafka
@pytest.mark.spark
def test_the_example_says_what_its_page_says(broker: Broker) -> None:
    at = ("--broker", broker.address)
    run("-m", "whorl", "topics", "create", "sales", "--partitions", "1", *at, cwd=EXAMPLE)
    run("-m", "whorl", "topics", "create", "tallies", "--partitions", "1", *at, cwd=EXAMPLE)
    run("-m", "whorl", "produce", "sales", "sales.jsonl", *at, cwd=EXAMPLE)
    assert run("tally.py", broker.address, cwd=EXAMPLE) == SAID
    tallies = run("-m", "whorl", "consume", "tallies", "--keys", *at, cwd=EXAMPLE).splitlines()
    assert sorted(line.split("\t")[0] for line in tallies) == ["delft", "gouda", "gouda", "leiden"]
    assert {"shop": "delft", "sales": 2, "euros": 19.75} in [json.loads(line.split("\t")[1]) for line in tallies]


@pytest.fixture
def memory() -> MemoryBroker:
    broker = MemoryBroker()
    broker.create_topic("t")
    return broker


def test_a_part_ends_where_it_should_whatever_lies_there(memory: MemoryBroker) -> None:
    clients = MemoryClients(memory)
    writer = clients.transactional("id")
    writer.init_transactions()
    for value in (b"a", b"b", b"c"):
        writer.begin_transaction()
        writer.produce("t", value, b"k")
        writer.commit_transaction()
    everything = {(start, end): [r.value for r in read_part(clients.consumer(), ("t", 0), start, end)] for start in range(7) for end in range(start, 7)}  # fmt: skip
    at = {0: b"a", 2: b"b", 4: b"c"}  # between them are the markers
    assert everything == {(s, e): [at[n] for n in range(s, e) if n in at] for s in range(7) for e in range(s, 7)}


def test_silence_is_an_error_that_a_retry_may_help(memory: MemoryBroker) -> None:
    with pytest.raises(Unavailable, match="t/0 cannot be read at 0"):
        list(read_part(MemoryClients(memory).consumer(**{"enable.partition.eof": False}), ("t", 0), 0, 3, silence=0))


def test_elements_become_records(memory: MemoryBroker) -> None:
    given = [b"raw", "text", {"a": 1}, ("key", 5), (b"k", None), KafkaRecord("x", 0, 7, b"k", b"v", [("h", b"1")], 99)]
    produce_all(MemoryClients(memory).producer(), "t", given)
    records = [(each.key, each.value) for each in memory.records("t")]
    assert records == [
        (None, b"raw"),
        (None, b"text"),
        (None, b'{"a":1}'),
        (b"key", b"5"),
        (b"k", None),
        (b"k", b"v"),
    ]
    with pytest.raises(PipelineError, match="set is no value"):
        produce_all(MemoryClients(memory).producer(), "t", [{1}])
