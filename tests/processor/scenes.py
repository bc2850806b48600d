"""What a StreamProcessor does with a real broker and a real Spark, scene by scene in one session: `python scenes.py BROKER FOLDER`."""

from __future__ import annotations

import json
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyspark.sql import DataFrame, SparkSession

from whorl import StreamProcessor
from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import Cluster
from whorl.processor.records import KafkaRecord


class Scenes:
    def __init__(self, broker: str, folder: str, spark: SparkSession) -> None:
        self.broker, self.folder, self.spark = broker, folder, spark
        self.admin = AdminClient({"bootstrap.servers": broker})

    def topic(self, name: str, partitions: int = 2) -> str:
        self.admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        return name

    def send(self, topic: str, values: Iterable[int], partition: int = -1) -> None:
        producer = Producer(
            {"bootstrap.servers": self.broker, "partitioner": "murmur2_random"}
        )  # knows of new partitions
        for value in values:
            producer.produce(topic, b"%d" % value, b"k%d" % value, partition, headers=[("n", b"%d" % value)])
        assert producer.flush(30) == 0

    def of(self, kind: type[StreamProcessor], *topics: str, **settings: Any) -> Any:
        settings = {"broker": self.broker, "delay": "10ms", "group": f"{topics[0]}.group", **settings}
        return kind(topics, spark=self.spark, **settings)


class Seen(StreamProcessor):
    """Keeps what each `process` saw; fails before the commit where it is told to."""

    fails = 0

    def process(self) -> None:
        self.seen = [*getattr(self, "seen", []), numbers(self.fetch())]
        if len(self.seen) <= self.fails:
            raise ConnectionError("the warehouse is down")
        self.commit()


class Failing(Seen):
    fails = 2


def numbers(rows: DataFrame) -> list[int]:
    return sorted(int(row.value) for row in rows.select("value").collect())


def what_is_not_committed_comes_again(scenes: Scenes) -> None:
    topic = scenes.topic("again")
    scenes.send(topic, range(10))
    failing = scenes.of(Failing, topic)
    failing.run(until_caught_up=True)
    assert failing.seen == [list(range(10))] * 3 + [[]], failing.seen
    assert failing.figures.failures == 2
    # A second life that ends before its commit, and a third that goes on from the last commit.
    scenes.send(topic, range(10, 15))
    second = scenes.of(Seen, topic)
    assert numbers(second.fetch()) == list(range(10, 15))
    third = scenes.of(Seen, topic, max_messages=1)
    third.run(until_caught_up=True)
    assert sorted(n for some in third.seen for n in some) == list(range(10, 15)) and len(third.seen) > 2
    assert Cluster(KafkaClients(scenes.broker)).committed(f"{topic}.group", [(topic, 0), (topic, 1)]) == {
        (topic, int(p)): at for p, at in third.figures.positions[topic].items()
    }


def it_gives_up_as_told(scenes: Scenes) -> None:
    topic = scenes.topic("given-up")
    scenes.send(topic, range(3))
    failing = scenes.of(Failing, topic, attempts=1)
    try:
        failing.run()
    except ConnectionError:
        return
    raise AssertionError("it did not give up")


def http_ends_it_within_one_fetch(scenes: Scenes) -> None:
    topic = scenes.topic("stopped")

    class Slow(Seen):
        def process(self) -> None:
            super().process()
            began.set()
            assert may_go_on.wait(60)

    began, may_go_on = threading.Event(), threading.Event()
    scenes.send(topic, range(100))
    slow = scenes.of(Slow, topic, max_messages=1, stop_port=0, offsets=f"file:{scenes.folder}/offsets.json")
    thread = threading.Thread(target=slow.run)
    thread.start()
    assert began.wait(60)
    with urllib.request.urlopen(urllib.request.Request(f"{slow.stop_url}/stop", method="POST")) as answer:
        assert json.load(answer)["stopping"] is True
    may_go_on.set()
    thread.join(60)
    assert not thread.is_alive() and slow.figures.fetches == 1 and slow.stop_url == ""
    after = scenes.of(Seen, topic, offsets=f"file:{scenes.folder}/offsets.json")
    rest = numbers(after.fetch())
    assert sorted(rest + slow.seen[0]) == list(range(100))


def topics_grow_between_fetches(scenes: Scenes) -> None:
    one, other = scenes.topic("grows"), scenes.topic("stays", 1)
    scenes.send(one, range(4))
    scenes.send(other, range(100, 102))
    seen = scenes.of(Seen, one, other, start="latest")
    assert numbers(seen.fetch()) == []
    scenes.send(one, range(4, 8))
    assert numbers(seen.fetch()) == [4, 5, 6, 7]
    # Crashes before any commit: the end of the first look still holds.
    seen = scenes.of(Seen, one, other, start="latest")
    assert numbers(seen.fetch()) == [4, 5, 6, 7]
    seen.commit()
    scenes.admin.create_partitions([NewPartitions(one, 4)])[one].result(30)
    cluster = Cluster(KafkaClients(scenes.broker))
    while cluster.partition_counts()[one] < 4:
        time.sleep(0.05)
    scenes.send(one, [8], partition=3)
    scenes.send(other, [102])
    until = time.monotonic() + 30
    while numbers(seen.fetch()) != [8, 102] and time.monotonic() < until:
        time.sleep(0.1)
    assert numbers(seen.fetch()) == [8, 102]
    seen.commit()
    assert numbers(seen.fetch()) == []


def an_open_transaction_is_waited_for(scenes: Scenes) -> None:
    topic = scenes.topic("open", 1)
    scenes.send(topic, [1])
    writer = KafkaClients(scenes.broker).transactional("scenes")
    writer.init_transactions()
    writer.begin_transaction()
    writer.produce(topic, b"2")
    writer.flush()
    seen = scenes.of(Seen, topic)
    assert numbers(seen.fetch()) == [1]
    seen.commit()
    assert numbers(seen.fetch()) == [] and seen.fetch(lambda record: record).count() == 0
    writer.commit_transaction()
    scenes.send(topic, [3])
    assert numbers(seen.fetch()) == [2, 3]
    assert sorted(seen.fetch(lambda record: record.value).collect()) == [b"2", b"3"]  # over the marker between them
    seen.commit()
    assert seen.figures.positions == {topic: {"0": 4}}


def records_go_through_a_handler_and_back(scenes: Scenes) -> None:
    topic, out = scenes.topic("handled"), scenes.topic("handled-out", 1)
    scenes.send(topic, [1, 2, 2, 3, 3, 3])
    seen = scenes.of(Seen, topic)
    records = seen.fetch(lambda record: record)
    assert all(isinstance(record, KafkaRecord) for record in records.collect())
    assert sorted((r.value, r.key, tuple(r.headers)) for r in records.collect())[0] == (b"1", b"k1", (("n", b"1"),))
    assert sorted(seen.fetch(lambda r: int(r.value), distinct_by=lambda r: r.value).collect()) == [1, 2, 3]
    assert numbers(seen.fetch(distinct_by="value")) == [1, 2, 3]
    assert numbers(seen.fetch(distinct_by="nullif(CAST(value AS STRING), '3')")) == [1, 2, 3, 3, 3]
    seen.write(records, out)
    seen.write(seen.fetch(lambda r: (r.key, {"n": int(r.value)}), distinct_by=lambda r: r.value), out)
    seen.write(seen.fetch(distinct_by="value").selectExpr("int(string(value)) AS twice", "key"), out)
    seen.write(seen.fetch(distinct_by="value").select("key", "value", "headers"), out)
    found = [message.value() for message in read_to_end(KafkaClients(scenes.broker), [(out, 0)])]
    copies, objects, rows = [b"1", b"2", b"2", b"3", b"3", b"3"], [b'{"n":%d}' % n for n in (1, 2, 3)], [b'{"twice":%d}' % n for n in (1, 2, 3)]  # fmt: skip
    assert sorted(found) == sorted([*copies, *objects, *rows, b"1", b"2", b"3"])
    seen.commit()
    assert seen.figures.connections["opened"] > 0 and seen.figures.connections["reused"] > 0, seen.figures


def records_that_are_gone_are_told(scenes: Scenes) -> None:
    topic = scenes.topic("gone", 1)
    scenes.send(topic, range(10))
    first = scenes.of(Seen, topic, max_messages=2)
    first.fetch()
    first.commit()
    Cluster(KafkaClients(scenes.broker)).delete_before({(topic, 0): 5})
    try:
        scenes.of(Seen, topic).fetch()
        raise AssertionError("nothing was told")
    except WorldError as error:
        assert error.message == "3 records of gone/0 are gone: committed was 2, Kafka begins at 5", error
    goes_on = scenes.of(Seen, topic, on_gap="earliest")
    assert numbers(goes_on.fetch()) == [5, 6, 7, 8, 9] and goes_on.figures.lost == 3


SCENES = (
    what_is_not_committed_comes_again,
    it_gives_up_as_told,
    http_ends_it_within_one_fetch,
    topics_grow_between_fetches,
    an_open_transaction_is_waited_for,
    records_go_through_a_handler_and_back,
    records_that_are_gone_are_told,
)


def main(broker: str, folder: str) -> None:
    spark = StreamProcessor.session("scenes")
    scenes = Scenes(broker, folder, spark)
    for scene in SCENES:
        began = time.monotonic()
        scene(scenes)
        print(f"ok {scene.__name__} {time.monotonic() - began:.1f}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
