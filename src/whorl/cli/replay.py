"""Dead letters go back to the topics they came from, in one transaction with the position up to which they did.

So a replay happens whole or not at all, and a second one finds nothing left. Of two at the same time the earlier one is fenced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
from confluent_kafka import KafkaException, TopicPartition

from whorl.cli.letters import EVERY, Letter, Letters, Reached
from whorl.errors import WorldError
from whorl.kafka.clients import dotted
from whorl.kafka.topics import TopicWanted
from whorl.kafka.transactions import Aborted, Transactions

_BY_KEY = -1
_LONGEST_MS = 900_000


@dataclass
class Replay:
    sent: Counter[str] = field(default_factory=Counter)
    """Records by the topic they went back to."""
    left: int = 0
    """Records that came from no topic, or whose value was cut."""
    reached: Reached = field(default_factory=dict)

    def note(self, letter: Letter) -> None:
        if letter.can_go_back:
            self.sent[letter.topic] += 1
            self.reached[letter.place[1]] = letter.offset + 1
        else:
            self.left += 1


def rehearse(letters: Letters, operator: str | None) -> Replay:
    """What a replay would do."""
    partitions, done = letters.cluster.partition_counts(), Replay()
    for letter in letters.waiting():
        if operator in (None, letter.operator):
            _check(letter, partitions)
            done.note(letter)
    return done


def replay(letters: Letters, operator: str | None) -> Replay:
    cluster, name = letters.cluster, letters.positions_topic
    if name not in cluster.partition_counts():
        cluster.create([TopicWanted(name, 1, {"cleanup.policy": "compact"})], min(3, cluster.brokers()))
    transactions = _transactions(letters)
    transactions.init()  # before positions are read: whoever else replays is fenced from here on
    transactions.begin()
    try:
        done = _send_back(letters, operator, transactions)
        if done.reached:
            _keep_position(letters, operator or EVERY, transactions, done.reached)
        transactions.commit()
    except (Aborted, KafkaException) as error:
        transactions.abort()
        raise WorldError(
            f"nothing was replayed: {error}", hint="look at the broker and try again", code="replay"
        ) from None
    except BaseException:
        transactions.abort()
        raise
    return done


def _send_back(letters: Letters, operator: str | None, transactions: Transactions) -> Replay:
    partitions, done = letters.cluster.partition_counts(), Replay()
    for letter in letters.waiting():
        if operator not in (None, letter.operator):
            continue
        _check(letter, partitions)
        if letter.can_go_back:
            _produce(letter, partitions[letter.topic], transactions)
        done.note(letter)
    return done


def _check(letter: Letter, partitions: Mapping[str, int]) -> None:
    if letter.can_go_back and letter.topic not in partitions:
        hint = f"create it: whorl topics create {letter.topic}"
        raise WorldError(
            f"nothing was replayed: topic '{letter.topic}' does not exist", hint=hint, code="topic-missing"
        )


def _produce(letter: Letter, partitions: int, transactions: Transactions) -> None:
    """To the partition it had, which is where its key belongs by whatever hash its writer used."""
    partition = letter.partition if 0 <= letter.partition < partitions else _BY_KEY
    record = (
        letter.topic,
        letter.value,
        letter.key,
        partition,
        None,
        None,
        max(letter.timestamp, 0),
        list(letter.headers),
    )
    while True:
        try:
            transactions.producer.produce(*record)
            return
        except BufferError:
            transactions.poll(0.1)


def _transactions(letters: Letters) -> Transactions:
    most = int(letters.cluster.broker_config().get("transaction.max.timeout.ms", _LONGEST_MS))
    config = {"transaction.timeout.ms": min(most, _LONGEST_MS)}
    return Transactions(letters.cluster.clients.transactional(letters.group(), **config))


def _keep_position(letters: Letters, operator: str, transactions: Transactions, reached: Reached) -> None:
    """The truth for the next replay, and the mirror of it that Kafka's tools see."""
    known = {**letters.replayed().get(operator, {}), **reached}
    value = orjson.dumps({str(partition): offset for partition, offset in known.items()})
    transactions.produce(letters.positions_topic, value, operator.encode(), 0)
    offsets = [TopicPartition(letters.topic, partition, offset) for partition, offset in known.items()]
    consumer = letters.cluster.clients.consumer(**dotted(group_id=letters.group(operator)))
    try:
        transactions.send_offsets(offsets, consumer.consumer_group_metadata())
    finally:
        consumer.close()
