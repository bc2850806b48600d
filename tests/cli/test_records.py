"""topics, produce and consume against a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from whorl.broker import Broker
from whorl.formats.rows import encode
from whorl.kafka.partitioner import partition_of

pytestmark = pytest.mark.kafka
Whorl = Callable[..., tuple[int, str, str]]
MakeTopic = Callable[..., str]


@pytest.fixture
def kafka(whorl: Whorl, broker: Broker, folder: Path) -> Whorl:
    """`whorl` in a folder whose settings name the broker."""
    (folder / "whorl.yaml").write_text(f"broker: {broker.address}\n")
    return whorl


def test_topics_from_birth_to_death(kafka: Whorl) -> None:
    assert kafka("topics", "create", "born", "--partitions", 3, "--option", "retention.ms=60000")[0] == 0
    assert ["born", "3"] in [line.split() for line in kafka("topics", "list")[1].splitlines()]
    described = kafka("topics", "describe", "born")[1]
    assert "retention.ms=60000" in described and described.count("\n") == 6
    code, _, err = kafka("topics", "create", "born")
    assert (code, "'born' exists already" in err) == (3, True)
    assert kafka("topics", "delete", "born", "--dry-run")[1] == "would delete 'born'\n"
    assert "born" in kafka("topics", "list")[1]
    assert kafka("topics", "delete", "born")[0] == 0
    assert "born" not in kafka("topics", "list")[1]


def test_internal_topics_are_hidden_and_kept(kafka: Whorl) -> None:
    kafka("topics", "create", "whorl.test.internal", "--partitions", 1)
    assert "whorl.test.internal" not in kafka("topics", "list")[1]
    assert "whorl.test.internal" in kafka("topics", "list", "--internal")[1]
    assert kafka("topics", "delete", "whorl.test.internal")[0] == 2
    assert kafka("topics", "delete", "whorl.test.internal", "--internal")[0] == 0


def test_a_topic_that_is_not_there_gets_a_hint(kafka: Whorl, topic: MakeTopic) -> None:
    name = topic()
    code, _, err = kafka("consume", name[:-1])
    assert code == 3
    assert f"did you mean '{name}'?" in err
    assert "create it: whorl topics create zzz" in kafka("produce", "zzz")[2]


def test_json_lines_there_and_back(kafka: Whorl, topic: MakeTopic, folder: Path) -> None:
    name = topic(partitions=4)
    (folder / "rows.jsonl").write_text('{"id": 1, "who": "ada"}\n\n{"id": 2, "who": "grün"}\n{"id": 3, "who": null}\n')
    code, out, _ = kafka("produce", name, "rows.jsonl", "--key", "who", "--header", "from=test")
    assert (code, out) == (0, f"3 records to '{name}'\n")
    records = [json.loads(line) for line in kafka("consume", name, "--json")[1].splitlines()]
    assert sorted((record["value"]["id"], record["key"]) for record in records) == [(1, "ada"), (2, "grün"), (3, None)]
    assert all(record["headers"] == [["from", "test"]] for record in records)
    placed = {record["key"]: record["partition"] for record in records if record["key"]}
    assert placed == {key: partition_of(key.encode(), 4) for key in placed}


def test_text_lines_with_keys(kafka: Whorl, topic: MakeTopic) -> None:
    name = topic()
    code, _, _ = kafka(
        "produce", name, "-", "--format", "text", "--key-separator", "::", input=b"k::v::w\r\n::\nx::\xff"
    )
    assert code == 0
    assert kafka("consume", name, "--keys")[1].splitlines() == ["k\tv::w", "\t", "x\t\\xff"]
    assert kafka("consume", name, "--count", 1)[1] == "v::w\n"
    assert kafka("consume", name, "--count", 0)[1] == ""


def test_a_wrong_line_is_named_and_those_before_it_are_written(kafka: Whorl, topic: MakeTopic) -> None:
    name = topic()
    code, out, err = kafka("produce", name, input=b'{"a": 1}\nnonsense\n{"a": 2}\n')
    assert (code, out) == (2, f"1 record to '{name}'\n")
    assert err.startswith("-:2: [line] the line is not JSON")
    assert kafka("consume", name)[1] == '{"a": 1}\n'
    assert "no column 'b'" in kafka("produce", name, "--key", "b", input=b'{"a": 1}\n')[2]


@pytest.mark.parametrize(
    "options", [["--key", "a", "--key-separator", ":"], ["--key", "a", "--format", "text"], ["--header", "x"]]
)
def test_options_that_do_not_fit_are_refused(kafka: Whorl, topic: MakeTopic, options: list[str]) -> None:
    assert kafka("produce", topic(), *options)[0] == 2


def test_only_committed_records_are_read(kafka: Whorl, topic: MakeTopic, broker: Broker) -> None:
    name = topic()
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": name})
    producer.init_transactions()
    for value, end in (("lost", producer.abort_transaction), ("kept", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(name, value)
        producer.flush()
        end()
    assert kafka("consume", name)[1] == "kept\n"


def test_rows_and_nulls_can_be_read(kafka: Whorl, topic: MakeTopic, broker: Broker) -> None:
    name = topic()
    producer = Producer({"bootstrap.servers": broker.address})
    producer.produce(name, encode({"a": 1}), headers=[("none", None)])
    producer.produce(name, None)
    producer.flush()
    assert kafka("consume", name, "--headers")[1].splitlines() == ['none=null\t{"a":1}', "\tnull"]
    assert [json.loads(line)["value"] for line in kafka("consume", name, "--json")[1].splitlines()] == [{"a": 1}, None]


def test_latest_follows_until_the_count_is_reached(topic: MakeTopic, broker: Broker) -> None:
    name = topic()
    producer = Producer({"bootstrap.servers": broker.address})
    producer.produce(name, "before")
    producer.flush()
    command = [
        sys.executable,
        "-c",
        "from whorl.cli.main import main; main()",
        "consume",
        name,
        "--broker",
        broker.address,
    ]
    reader = subprocess.Popen([*command, "--latest", "--count", "2"], stdout=subprocess.PIPE, text=True)
    try:
        assert reader.stdout is not None
        while reader.poll() is None:  # it starts at the end of the moment, so go on until it has seen two
            producer.produce(name, "after")
            producer.flush()
            try:
                reader.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        assert (reader.returncode, reader.stdout.read()) == (0, "after\nafter\n")
    finally:
        reader.kill()
        reader.wait()


def test_an_option_names_another_broker(whorl: Whorl, broker: Broker) -> None:
    assert whorl("topics", "list", "--broker", broker.address)[0] == 0
