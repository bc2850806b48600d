"""Dead letters: listed, and sent back once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from whorl.broker import Broker
from whorl.cli.letters import find_letters
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.plan import naming

pytestmark = pytest.mark.kafka
Whorl = Callable[..., tuple[int, str, str]]
MakeTopic = Callable[..., str]
WHEN = int(time.time() * 1000) - 3_600_000
"""Not longer ago: records that are older than the topic keeps them would be deleted."""


@pytest.fixture
def kafka(whorl: Whorl, broker: Broker, folder: Path) -> Whorl:
    (folder / "whorl.yaml").write_text(f"broker: {broker.address}\n")
    return whorl


@pytest.fixture
def bury(broker: Broker) -> Callable[..., None]:
    """`bury(dead, source, key, value, operator, partition=0)` writes a dead letter as a pipeline does."""
    producer = Producer({"bootstrap.servers": broker.address})

    def bury(dead: str, source: str, key: str | None, value: str, operator: str = "one", partition: int = 0) -> None:
        told = {
            naming.DEAD_OPERATOR: operator,
            naming.DEAD_ERROR: f"ValueError: {value} is bad",
            naming.DEAD_TOPIC: source,
            naming.DEAD_PARTITION: str(partition),
            naming.DEAD_OFFSET: "7",
        }
        headers = [("mine", b"own"), *((name, text.encode()) for name, text in told.items())]
        producer.produce(dead, value, key, headers=headers, timestamp=WHEN)
        producer.flush()

    return bury


def read(kafka: Whorl, topic: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in kafka("consume", topic, "--json")[1].splitlines()]


def test_a_list_of_what_failed(kafka: Whorl, topic: MakeTopic, bury: Callable[..., None]) -> None:
    dead = topic()
    assert kafka("dead", "list", dead) == (0, f"0 of 0 dead records in '{dead}'\n", "")
    bury(dead, "orders", "k", "first")
    bury(dead, "orders", None, "x" * 100, "two")
    lines = kafka("dead", "list", dead)[1].splitlines()
    assert lines[0].split() == ["POSITION", "OPERATOR", "ERROR", "KEY", "VALUE"]
    assert lines[1].split() == ["orders/0/7", "one", "ValueError:", "first", "is", "bad", "k", "first"]
    assert lines[2].endswith("x…")
    assert lines[3] == f"2 of 2 dead records in '{dead}'"
    assert kafka("dead", "list", dead, "--count", 1)[1].splitlines()[-1] == f"1 of 2 dead records in '{dead}'"
    (shown,) = kafka("dead", "list", dead, "--json", "--operator", "one")[1].splitlines()
    assert json.loads(shown) == {
        "position": "orders/0/7",
        "operator": "one",
        "error": "ValueError: first is bad",
        "key": "k",
        "value": "first",
        "headers": [["mine", "own"]],
    }


def test_a_pipeline_is_found_by_file_and_by_name(kafka: Whorl, topic: MakeTopic, folder: Path) -> None:
    dead = topic()
    (folder / "p.yaml").write_text(
        "{sources: {a: {type: kafka, topic: a}}, sinks: {b: {type: kafka, topic: b}}"
        + f", settings: {{dead_letter_topic: {dead}}}}}"
    )
    assert f"in '{dead}'" in kafka("dead", "list", "p.yaml")[1]
    kafka("topics", "create", "found.dead")
    assert "in 'found.dead'" in kafka("dead", "list", "found")[1]
    code, _, err = kafka("dead", "list", "nobody")
    assert (code, "there is no dead-letter topic 'nobody.dead'" in err) == (3, True)


def test_each_goes_back_once(kafka: Whorl, topic: MakeTopic, bury: Callable[..., None], broker: Broker) -> None:
    dead, source = topic(partitions=2), topic(partitions=3)
    bury(dead, source, "k", "first", partition=2)
    bury(dead, source, None, "second", "two", partition=1)
    assert kafka("dead", "replay", dead, "--dry-run")[1] == f"2 records would go back to '{source}'\n"
    assert read(kafka, source) == []
    assert kafka("dead", "replay", dead) == (0, f"2 records went back to '{source}'\n", "")
    records = sorted(read(kafka, source), key=lambda record: str(record["value"]))
    assert [(r["value"], r["key"], r["partition"]) for r in records] == [("first", "k", 2), ("second", None, 1)]
    assert all(r["headers"] == [["mine", "own"]] and r["timestamp"] == WHEN for r in records)
    assert kafka("dead", "replay", dead)[1] == f"nothing to replay in '{dead}'\n"
    assert kafka("dead", "list", dead)[1] == f"0 of 0 dead records in '{dead}'\n"
    assert kafka("dead", "list", dead, "--all")[1].splitlines()[-1] == f"2 of 2 dead records in '{dead}'"
    bury(dead, source, "k", "third")
    assert kafka("dead", "replay", dead)[1] == f"1 record went back to '{source}'\n"
    assert len(read(kafka, source)) == 3
    committed = Cluster(KafkaClients(broker.address)).committed(f"{dead}.replay", [(dead, 0), (dead, 1)])
    assert sum(committed.values()) == 3


def test_one_operator_first_then_the_rest(kafka: Whorl, topic: MakeTopic, bury: Callable[..., None]) -> None:
    dead, source = topic(), topic()
    for value, operator in (("a", "one"), ("b", "two"), ("c", "one")):
        bury(dead, source, None, value, operator)
    assert kafka("dead", "replay", dead, "--operator", "two")[1] == f"1 record went back to '{source}'\n"
    assert kafka("dead", "replay", dead, "--operator", "two")[1] == f"nothing to replay in '{dead}'\n"
    assert kafka("dead", "replay", dead)[1] == f"2 records went back to '{source}'\n"
    assert [record["value"] for record in read(kafka, source)] == ["b", "a", "c"]


def test_nothing_is_replayed_if_a_topic_is_gone(kafka: Whorl, topic: MakeTopic, bury: Callable[..., None]) -> None:
    dead, source = topic(), topic()
    bury(dead, source, None, "fine")
    bury(dead, "long.gone", None, "lost")
    code, _, err = kafka("dead", "replay", dead)
    assert code == 3
    assert "nothing was replayed: topic 'long.gone' does not exist" in err
    assert read(kafka, source) == []
    assert kafka("dead", "replay", dead, "--dry-run")[0] == 3


@pytest.mark.parametrize(("origin", "position"), [("@trial", "@trial/0/7"), ("", "-")])
def test_what_came_from_no_topic_stays(
    kafka: Whorl, topic: MakeTopic, bury: Callable[..., None], origin: str, position: str
) -> None:
    """Rows of a list, which have a place, and timers, which have none."""
    dead, source = topic(), topic()
    bury(dead, origin, None, "row")
    bury(dead, source, None, "fine")
    why = "of a timer, of a source that is no topic, or too large to be kept whole"
    for sent in (f"1 record went back to '{source}'\n", ""):
        assert kafka("dead", "replay", dead)[1] == f"{sent}1 record cannot go back: {why}\n"
    assert kafka("dead", "list", dead)[1].splitlines()[1].split()[0] == position


def test_the_position_does_not_depend_on_the_group(
    kafka: Whorl, topic: MakeTopic, bury: Callable[..., None], broker: Broker
) -> None:
    """Offsets of a group without members expire; what was replayed must stay replayed."""
    dead, source = topic(), topic()
    bury(dead, source, None, "once")
    kafka("dead", "replay", dead)
    cluster = Cluster(KafkaClients(broker.address))
    for future in cluster._admin.delete_consumer_groups([f"{dead}.replay"]).values():
        future.result()
    assert cluster.committed(f"{dead}.replay", [(dead, 0)]) == {}
    assert list(find_letters(dead, broker.address, None, (), None).waiting()) == []
