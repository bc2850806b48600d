"""One transactional producer, and what its errors mean.

    Fenced    another producer has the id, or Kafka gave the transaction up: this one must never write again. A task starts anew
              and learns from the register which of the two it was
    Aborted   the transaction is gone, the producer lives: start over from the last commit
    other     Unavailable, in Kafka's words

A call whose answer did not come is repeated, never given up: giving up a commit could double or lose it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import starmap
from operator import length_hint
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from whorl.errors import Superseded, Unavailable

_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FATAL)
"""`_FATAL` is all that `produce` says of a producer that was fenced."""

_FIRST_WAIT, _LONGEST_WAIT = 0.2, 2.0


class Fenced(Superseded):
    code = "fenced"
    retryable = True


class Aborted(Exception):
    """The open transaction cannot be committed any more."""


class Transactions:
    """Begin lazily, produce, commit. `open` says whether a transaction is under way."""

    def __init__(self, producer: Any, waiting: Callable[[str], None] = lambda what: None) -> None:
        self.producer = producer
        self.open = False
        self._waiting = waiting

    def init(self) -> None:
        self._insist("init_transactions", self.producer.init_transactions)

    def begin(self) -> None:
        if not self.open:
            self._insist("begin_transaction", self.producer.begin_transaction)
            self.open = True

    def produce(self, *record: Any) -> None:
        """Topic, value, key, partition, and more as the producer takes it."""
        self.produce_all((record,))

    def produce_all(self, records: Iterable[tuple[Any, ...]]) -> None:
        hand_over(self.producer, records, self.poll)

    def poll(self, timeout: float) -> None:
        """Serves the client; a producer that was fenced says so here first."""
        try:
            self.producer.poll(timeout)
        except KafkaException as error:
            raise translate(error) from None

    def send_offsets(self, offsets: list[Any], group: Any) -> None:
        self._insist("send_offsets", lambda: self.producer.send_offsets_to_transaction(offsets, group))

    def commit(self) -> None:
        self._insist("commit", self.producer.commit_transaction)
        self.open = False

    def abort(self) -> None:
        """Leaves no open transaction, whatever state it is in."""
        if self.open:
            self._insist("abort", self.producer.abort_transaction)
            self.open = False

    def _insist(self, what: str, call: Callable[[], Any]) -> None:
        """For ever, after waits that grow up to a cap; `waiting` hears why, and nothing once it is over."""
        wait, told = _FIRST_WAIT, False
        while True:
            try:
                call()
                break
            except KafkaException as error:
                if not retriable(error):
                    raise translate(error) from None
                self._waiting(f"{what}: {error.args[0].str()}")
                told = True
                self.poll(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
        if told:
            self._waiting("")


def hand_over(producer: Any, records: Iterable[tuple[Any, ...]], poll: Callable[[float], None]) -> None:
    """As the producer takes them; where its queue is full, it is polled until there is room."""
    waiting = list(records)
    left = iter(waiting)
    while True:
        try:
            deque(starmap(producer.produce, left), maxlen=0)
            return
        except BufferError:
            left = iter(waiting[len(waiting) - length_hint(left) - 1 :])
            poll(0.1)
        except KafkaException as error:
            raise translate(error) from None


def retriable(error: KafkaException) -> bool:
    reason: KafkaError = error.args[0]
    return bool(reason.retriable()) or reason.code() == KafkaError._TIMED_OUT


def translate(error: Any) -> Exception:
    reason: KafkaError = error.args[0]
    if reason.code() in _FENCED:
        return Fenced(f"another instance took over ({reason.str()})", hint="this one ends; nothing of it was written")
    if reason.txn_requires_abort() or reason.code() == KafkaError._STATE:
        return Aborted(reason.str())  # a transaction that failed refuses all else with a bare "wrong state"
    return Unavailable(f"Kafka refuses: {reason.str()}", hint="the broker's log tells more", code="kafka")
