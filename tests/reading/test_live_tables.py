"""Tables that are kept current: read once, then followed; put away when nobody asks or there is no room."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

import whorl.reading.live as live
from whorl.broker import Broker
from whorl.errors import Unavailable, WhorlError
from whorl.kafka.clients import KafkaClients
from whorl.reading.live import LiveTable, LiveTables, Row
from whorl.testing.memory import MemoryBroker, MemoryClients
from whorl.testing.memory.consumer import MemoryConsumer


def eventually(what: Callable[[], Any], seconds: float = 30.0) -> Any:
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.01)
    return found


class Counting(MemoryClients):
    made = 0

    def consumer(self, **config: Any) -> Any:
        self.made += 1
        return super().consumer(**config)


class World:
    def __init__(self, **options: Any) -> None:
        self.broker = MemoryBroker()
        self.clients = Counting(self.broker)
        self.tables = LiveTables(**options)
        self.broker.create_topic("pages", 2)

    def table(self, topic: str = "pages") -> LiveTable:
        return self.tables.of("here", self.clients, topic)

    def write(self, topic: str = "pages", **rows: Any) -> None:
        producer = self.clients.producer()
        for key, value in rows.items():
            producer.produce(topic, None if value is None else json.dumps(value).encode(), key.encode())
        producer.flush()

    def keys(self, **asked: Any) -> list[str]:
        return [row.key for row in self.table().rows(100, **asked).rows]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(live, "_LOOK", 0.05)
    world = World()
    yield world
    world.tables.close()


def test_it_is_read_once_and_then_followed(world: World) -> None:
    world.write(home={"views": 1}, search={"views": 5})
    assert sorted(world.keys()) == ["home", "search"]
    world.write(home={"views": 2}, search=None, basket={"views": 3})
    eventually(lambda: world.table().row("basket"))
    found = world.table().row("home")
    assert found is not None and found.value == {"views": 2} and found.offset > 0
    assert world.table().row("search") is None and world.table().rows(10).total == 2
    assert world.clients.made == 1


def test_pages_and_order(world: World) -> None:
    world.write(a={"n": 2}, b={"n": 30}, c={"n": 1.5}, d={"other": 1}, e={"n": "word"}, f={"n": None})
    world.table().rows(1)
    assert world.keys(sort="-n")[:4] == ["e", "b", "a", "c"] and set(world.keys(sort="-n")[4:]) == {"d", "f"}
    assert world.keys(sort="n")[:4] == ["c", "a", "b", "e"] and set(world.keys(sort="n")[4:]) == {"d", "f"}
    part = world.table().rows(2, offset=1, sort="n")
    assert [row.key for row in part.rows] == ["a", "b"] and part.total == 6
    assert [row.key for row in world.table().rows(2, offset=4).rows] == world.keys()[4:]


def test_values_that_are_no_json_are_text(world: World) -> None:
    producer = world.clients.producer()
    producer.produce("pages", b"caf\xc3\xa9 \xff", b"k", partition=1)
    producer.produce("pages", b"7", None, partition=0)
    producer.flush()
    assert world.table().row("k") == Row("k", "café \ufffd", 1, 0)
    found = world.table().row("")
    assert found is not None and found.value == 7


def test_what_is_not_committed_is_not_there(world: World) -> None:
    producer = world.clients.transactional("writer")
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("pages", b"1", b"a")
    assert world.keys() == []
    producer.commit_transaction(10)
    eventually(lambda: world.keys() == ["a"])


def test_a_topic_that_is_not_there(world: World) -> None:
    for _ in range(2):
        with pytest.raises(WhorlError) as raised:
            world.table("nothing").rows(1)
        assert raised.value.code == "no-topic"
    world.broker.create_topic("nothing")
    world.write("nothing", a=1)
    assert eventually(lambda: world.table("nothing").is_over or world.table("nothing").row("a"))


def test_a_topic_that_is_deleted_or_grows_is_read_anew(world: World) -> None:
    world.write(a=1)
    first = world.table()
    assert world.keys() == ["a"]
    world.broker.add_partitions("pages", 3)
    eventually(lambda: first.is_over)
    assert world.keys() == ["a"] and world.table() is not first
    second = world.table()
    world.broker.delete_topic("pages")
    eventually(lambda: second.is_over)
    with pytest.raises(WhorlError) as raised:
        second.rows(1)
    assert raised.value.code in ("no-topic", "consume")


def test_while_the_broker_does_not_answer_nothing_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write(a=1)
    assert world.keys() == ["a"]
    table, answers = world.table(), MemoryConsumer.list_topics

    def silent(self: MemoryConsumer, *asked: Any, **more: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    monkeypatch.setattr(MemoryConsumer, "list_topics", silent)
    eventually(lambda: table._trouble)
    with pytest.raises(Unavailable, match="cannot be followed"):
        table.rows(1)
    monkeypatch.setattr(MemoryConsumer, "list_topics", answers)
    eventually(lambda: not table._trouble)
    assert world.keys() == ["a"] and world.table() is table


def test_nobody_asks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_LOOK", 0.05)
    world = World(idle=0.2)
    world.write(a=1)
    table = world.table()
    assert table.rows(1).total == 1
    eventually(lambda: table.is_over)
    eventually(lambda: f"whorl-table-{table.topic}" not in {thread.name for thread in threading.enumerate()})
    assert table.size == 0 and world.keys() == ["a"], "whoever asks again gets another"
    world.tables.close()


def test_one_that_is_too_large_is_refused_for_a_while(world: World) -> None:
    world.tables = LiveTables(largest=3000)
    world.write(**{f"k{n}": "x" * 500 for n in range(10)})
    for _ in range(2):
        with pytest.raises(WhorlError) as raised:
            world.table().rows(1)
        assert raised.value.code == "table-size" and "holds more than" in str(raised.value)
    assert world.clients.made == 1 and world.table().size == 0


def test_the_one_asked_for_longest_ago_makes_room(world: World) -> None:
    world.tables = LiveTables(largest=4000)
    for topic in ("old", "new"):
        world.broker.create_topic(topic)
        world.write(topic, **{f"k{n}": "x" * 300 for n in range(4)})
    old = world.table("old")
    assert old.rows(1).total == 4
    new = world.table("new")
    assert new.rows(1).total == 4
    eventually(lambda: old.is_over)
    assert not new.is_over and new.size > 2000
    with pytest.raises(Unavailable, match="was put away"):
        old.rows(1)


def test_an_overwritten_value_takes_no_more_room(world: World) -> None:
    world.write(a="x" * 1000)
    table = world.table()
    assert table.rows(1).total == 1
    before = table.size
    world.write(a="y" * 1000)
    eventually(lambda: (found := table.row("a")) and found.value.startswith("y"))
    assert table.size == before


def test_it_follows_a_real_topic(broker: Broker, topic: Any) -> None:
    name, clients, tables = topic(partitions=3), KafkaClients(broker.address), LiveTables()
    producer = clients.transactional(f"{name}.writer")
    producer.init_transactions(30)

    def write(commit: bool = True, **rows: Any) -> None:
        producer.begin_transaction()
        for key, value in rows.items():
            producer.produce(name, None if value is None else json.dumps(value).encode(), key.encode())
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)

    write(a={"n": 1}, b={"n": 2})
    write(commit=False, a={"n": 99}, c={"n": 3})
    table = tables.of(broker.address, clients, name)
    assert {row.key: row.value["n"] for row in table.rows(10).rows} == {"a": 1, "b": 2}
    began = time.monotonic()
    assert all(table.rows(10).total == 2 for _ in range(100)) and time.monotonic() - began < 1
    write(a={"n": 5}, b=None)
    eventually(lambda: [(row.key, row.value["n"]) for row in table.rows(10).rows] == [("a", 5)])
    tables.close()


def test_nobody_asks_for_one_that_is_written_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_LOOK", 0.05)
    world = World(idle=0.3)
    table = world.table()
    until = time.monotonic() + 30
    while not table.is_over and time.monotonic() < until:
        world.write(a=time.monotonic())
    assert table.is_over
