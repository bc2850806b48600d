"""What the client's errors mean, and which calls are repeated."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.errors import Superseded, Unavailable
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.transactions import Aborted, Fenced, Transactions, translate
from whorl.testing.memory import ABORTABLE, FENCED, QUEUE_FULL, TIMED_OUT, Faults, MemoryBroker, MemoryClients


@pytest.fixture
def memory():
    broker = MemoryBroker()
    broker.create_topic("t")
    return broker


def opened(memory, fail=None):
    """Transactions under one id, and what they said while they waited."""
    waits: list[str] = []
    transactions = Transactions(MemoryClients(memory, Faults(fail=fail)).transactional("id"), waits.append)
    transactions.init()
    return transactions, waits


def values(memory):
    return [entry.value for entry in memory.records("t")]


@pytest.mark.parametrize(
    "point",
    ["producer.commit_transaction", "producer.commit_transaction/request", "producer.commit_transaction/answer"],
)
def test_a_commit_without_an_answer_is_repeated(memory, point):
    transactions, waits = opened(memory, {point: TIMED_OUT})
    transactions.begin()
    transactions.produce("t", b"x", None, 0)
    transactions.commit()
    assert values(memory) == [b"x"]
    assert not transactions.open
    assert len(waits) == 2 and waits[1] == "" and waits[0].startswith("commit: Timed out")


@pytest.mark.parametrize("point", ["producer.init_transactions", "producer.init_transactions/answer"])
def test_an_init_without_an_answer_is_repeated(memory, point):
    _, waits = opened(memory, {point: TIMED_OUT})
    assert len(waits) == 2 and waits[1] == ""


def test_an_abortable_error_leaves_the_producer_usable(memory):
    transactions, _ = opened(memory, {"producer.commit_transaction": ABORTABLE})
    transactions.begin()
    transactions.produce("t", b"lost", None, 0)
    with pytest.raises(Aborted):
        transactions.commit()
    assert transactions.open
    transactions.abort()
    transactions.begin()
    transactions.produce("t", b"kept", None, 0)
    transactions.commit()
    assert values(memory) == [b"kept"]
    assert memory.open_transactions() == []


def test_a_failed_delivery_shows_at_the_latest_at_the_commit(memory):
    transactions, _ = opened(memory, {"producer.produce": ABORTABLE})
    transactions.begin()
    transactions.produce("t", b"lost", None, 0)
    with pytest.raises(Aborted):
        for _ in range(3):
            transactions.produce("t", b"more", None, 0)
        transactions.commit()
    transactions.abort()
    assert values(memory) == []


def test_a_full_queue_only_waits(memory):
    transactions, _ = opened(memory, {"producer.produce": QUEUE_FULL})
    transactions.begin()
    transactions.produce("t", b"x", None, 0)
    transactions.commit()
    assert values(memory) == [b"x"]


@pytest.mark.parametrize("step", ["produce", "send", "commit", "abort"])
def test_a_fenced_producer_says_so_whatever_it_does(memory, step):
    old, _ = opened(memory)
    old.begin()
    old.produce("t", b"old", None, 0)
    new, _ = opened(memory)
    group = MemoryClients(memory).consumer(**{"group.id": "g"}).consumer_group_metadata()
    actions = {
        "produce": lambda: [old.produce("t", b"zombie", None, 0) for _ in range(3)],
        "send": lambda: old.send_offsets([TopicPartition("t", 0, 1)], group),
        "commit": old.commit,
        "abort": old.abort,
    }
    with pytest.raises(Fenced) as fenced:
        actions[step]()
    assert isinstance(fenced.value, Superseded)
    assert fenced.value.retryable, "the register, not the error, says whose turn it is"
    new.begin()
    new.produce("t", b"new", None, 0)
    new.commit()
    assert values(memory) == [b"new"]


def test_an_abort_without_a_transaction_is_nothing(memory):
    transactions, _ = opened(memory)
    transactions.abort()
    transactions.begin()
    transactions.begin()
    transactions.abort()
    assert memory.open_transactions() == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FENCED.error(), Fenced),
        (KafkaError(KafkaError.PRODUCER_FENCED), Fenced),
        (KafkaError(KafkaError.INVALID_PRODUCER_EPOCH), Fenced),
        (KafkaError(KafkaError._FATAL), Fenced),
        (ABORTABLE.error(), Aborted),
        (KafkaError(KafkaError._STATE), Aborted),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), Unavailable),
    ],
)
def test_what_errors_mean(error, kind):
    assert type(translate(KafkaException(error))) is kind


def test_reading_ends_where_kafka_says_or_tells_that_it_cannot(memory):
    clients = MemoryClients(memory)
    transactions, _ = opened(memory)
    for value in (b"1", b"2"):
        transactions.begin()
        transactions.produce("t", value, None, 0)
        transactions.commit()
    assert [message.value() for message in read_to_end(clients, [("t", 0)])] == [b"1", b"2"]
    assert list(read_to_end(clients, [])) == []
    with pytest.raises(Unavailable, match="topic 'nowhere' partition 0 cannot be read"):
        list(read_to_end(clients, [("nowhere", 0)], timeout=0.05))


def read_past_open(clients, topic, finish):
    """Reads with somebody else's transaction open in front of what was committed."""
    open_ = Transactions(clients.transactional(f"open-{topic}"))
    open_.init()
    open_.begin()
    open_.produce(topic, b"open", None, 0)
    open_.producer.flush()
    done = Transactions(clients.transactional(f"done-{topic}"))
    done.init()
    done.begin()
    done.produce(topic, b"behind", None, 0)
    done.commit()
    assert [message.value() for message in read_to_end(clients, [(topic, 0)])] == []
    reading = read_to_end(_Finishing(clients, lambda: finish(open_)), [(topic, 0)], past_open=True)
    return [message.value() for message in reading]


class _Finishing:
    """Clients whose consumer ends the open transaction when its first end was seen."""

    def __init__(self, clients, finish):
        self._clients, self._finish = clients, finish

    def consumer(self, **config):
        consumer, finish = self._clients.consumer(**config), self._finish

        class Watching:
            finished = False

            def __getattr__(self, name):
                return getattr(consumer, name)

            def get_watermark_offsets(self, *args, **kwargs):
                found = consumer.get_watermark_offsets(*args, **kwargs)
                if not self.finished:
                    self.finished = True
                    finish()
                return found

        return Watching()


@pytest.mark.parametrize(("finish", "values"), [("commit", [b"open", b"behind"]), ("abort", [b"behind"])])
def test_reading_past_an_open_transaction(memory, finish, values):
    assert read_past_open(MemoryClients(memory), "t", lambda open_: getattr(open_, finish)()) == values


@pytest.mark.kafka
@pytest.mark.parametrize(("finish", "values"), [("commit", [b"open", b"behind"]), ("abort", [b"behind"])])
def test_reading_past_an_open_transaction_of_a_real_broker(broker, topic, finish, values):
    name = topic()
    assert read_past_open(KafkaClients(broker.address), name, lambda open_: getattr(open_, finish)()) == values
