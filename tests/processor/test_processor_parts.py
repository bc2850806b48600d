"""Settings, stores, retries and the port of a StreamProcessor, without Kafka or Spark."""

from __future__ import annotations

import json
import logging
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.errors import Unavailable, UsageError, WorldError
from whorl.processor.door import Door
from whorl.processor.retrying import Retries
from whorl.processor.settings import ProcessorSettings
from whorl.processor.signals import stopping_by_signal
from whorl.processor.stores import kept_at


def test_keywords_that_are_wrong_are_told_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="StreamProcessor has no keyword 'max_mesages'"):
        ProcessorSettings.of({"max_mesages": 3})
    with pytest.raises(UsageError, match=r"'max_messages' of StreamProcessor: .*greater"):
        ProcessorSettings.of({"max_messages": 0})
    assert ProcessorSettings.of({"delay": "50ms"}).delay == 0.05


class Group:
    """A client that takes offsets, or does not."""

    def __init__(self) -> None:
        self.error: KafkaError | None = None
        self.taken: dict[tuple[str, int], int] = {}
        self.closed = False

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        if self.error is not None:
            raise KafkaException(self.error)
        self.taken |= {(each.topic, each.partition): each.offset for each in offsets}
        return offsets

    def close(self) -> None:
        self.closed = True


class Cluster:
    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.clients = self

    def consumer(self, **config: object) -> Group:
        self.groups.append(Group())
        return self.groups[-1]


def test_one_client_writes_the_offsets_of_a_group_until_it_fails() -> None:
    cluster = Cluster()
    kept = kept_at(None, "g", cluster)
    kept.write({("t", 0): 1})
    kept.write({("t", 0): 2, ("t", 1): 5})
    (first,) = cluster.groups
    assert first.taken == {("t", 0): 2, ("t", 1): 5}
    first.error = KafkaError(KafkaError.REBALANCE_IN_PROGRESS)
    with pytest.raises(Unavailable, match="group 'g' takes no offsets"):
        kept.write({("t", 0): 3})
    kept.write({("t", 0): 3})
    assert first.closed and cluster.groups[1].taken == {("t", 0): 3}


def test_any_store_will_do(tmp_path: Path) -> None:
    url, cluster = f"file:{tmp_path}/deep/offsets.json", Cluster()
    kept_at(url, "g", cluster).write({("t", 0): 3, ("t", 1): 4})
    kept_at(f"{url}?group=h", "g", cluster).write({("t", 0): 9})
    assert kept_at(url, "g", cluster).read([("t", 0), ("t", 2)]) == {("t", 0): 3}
    assert kept_at(url, "h", cluster).read([("t", 0)]) == {("t", 0): 9}
    with pytest.raises(UsageError, match="there is no offset store 'ftp'"):
        ProcessorSettings.of({"offsets": "ftp://x"})


def test_waits_double_up_to_a_bound_and_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    waited: list[float] = []
    retries = Retries(None, 1.0, 5.0, waited.append)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            retries.failed(ValueError("no"))
        retries.failed(OSError("other"))
        retries.succeeded()
        retries.succeeded()
    assert waited == [1, 2, 4, 5, 5, 5]
    assert [record.message.partition(";")[0] for record in caplog.records] == [
        "ValueError: no",
        "OSError: other",
        "goes on after 6 failures",
    ]


def test_it_gives_up_as_told() -> None:
    retries = Retries(2, 0.0, 0.0, lambda pause: None)
    retries.failed(ValueError())
    retries.failed(ValueError())
    with pytest.raises(ValueError):
        retries.failed(ValueError())
    retries.succeeded()
    retries.failed(Unavailable("down"))
    with pytest.raises(WorldError):  # no retry helps here
        retries.failed(WorldError("gone"))


def test_the_port_tells_and_stops() -> None:
    told: list[str] = []
    door = Door("127.0.0.1", 0, lambda: told.append("stop"), lambda: {"lag": 3})
    with urllib.request.urlopen(door.url) as answer:
        assert json.load(answer) == {"lag": 3}
    for method, path in (("POST", "/start"), ("GET", "/stop")):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(door.url + path, method=method))
    assert told == []
    with urllib.request.urlopen(urllib.request.Request(door.url + "/stop", method="POST")) as answer:
        assert answer.status == 202
    assert told == ["stop"]
    with pytest.raises(WorldError, match="cannot be had"):
        Door("127.0.0.1", int(door.url.rpartition(":")[2]), lambda: None, dict)
    door.close()


def test_a_signal_is_a_wish_once() -> None:
    told: list[str] = []
    before = signal.getsignal(signal.SIGTERM)
    with stopping_by_signal(lambda: told.append("stop")):
        signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is before
    assert told == ["stop"] and signal.getsignal(signal.SIGINT) is not None
