"""The producer: `confluent_kafka.Producer` with and without transactions.

Records go to the broker at once (or, with `Faults(hold=True)`, only in flush and commit); their delivery reports wait
for the next poll, flush, commit or abort, as librdkafka's do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ClusterMetadata

from whorl.testing.memory.broker import MemoryBroker, size_of
from whorl.testing.memory.coordinator import Place
from whorl.testing.memory.faults import Failure, Faults
from whorl.testing.memory.log import Entry, Headers
from whorl.testing.memory.messages import GroupMetadata, Message, is_true, of_delivery
from whorl.testing.memory.metadata import cluster_metadata
from whorl.testing.memory.partitioner import partitioner
from whorl.testing.memory.transaction import Transaction

OnDelivery = Callable[[KafkaError | None, Message], None]
RECORD_OVERHEAD = 36
"""What librdkafka adds to a record's bytes before it compares them with `message.max.bytes`."""


@dataclass(frozen=True, slots=True)
class _Pending:
    entry: Entry
    on_delivery: OnDelivery | None
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class _Report:
    entry: Entry
    on_delivery: OnDelivery | None
    error: KafkaError | None


class MemoryProducer:
    def __init__(self, broker: MemoryBroker, config: Mapping[str, Any], faults: Faults | None = None) -> None:
        self._broker = broker
        self._faults = faults or Faults()
        self._max_bytes = int(config.get("message.max.bytes", 1_000_000))
        self._partition_of = partitioner(str(config.get("partitioner", "consistent_random")))
        self._queue: list[_Pending] = []
        self._reports: list[_Report] = []
        self._on_delivery: OnDelivery | None = config.get("on_delivery")
        self._only_errors = is_true(config.get("delivery.report.only.error", False))
        self._closed = False
        # The sequence number of a refused record is missing to the broker: librdkafka finds out in the next transaction.
        self._skipped: set[Place] = set()
        self._transaction: Transaction | None = None
        if transactional_id := config.get("transactional.id"):
            timeout = float(config.get("transaction.timeout.ms", 60_000)) / 1000
            self._transaction = Transaction(broker, str(transactional_id), timeout, self._faults)

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        callback: OnDelivery | None = None,
        on_delivery: OnDelivery | None = None,
        timestamp: int = 0,
        headers: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    ) -> None:
        failure = self._faults.reach("producer.produce")
        self._check_open()
        if self._transaction:
            self._transaction.check_produce()
        if failure and failure.code == KafkaError._QUEUE_FULL:
            raise BufferError(failure.reason)
        when = timestamp or self._broker.now()
        entry = Entry(topic, partition, _bytes(key), _bytes(value), _headers(headers), when)
        self._check_record(entry)
        self._queue.append(_Pending(entry, on_delivery or callback or self._on_delivery, failure))
        if not self._faults.hold:
            self._send()

    def poll(self, timeout: float = -1) -> int:
        self._call("poll")
        if self._transaction:
            self._transaction.raise_unseen()
        return self._serve()

    def flush(self, timeout: float = -1) -> int:
        self._call("flush")
        self._deliver()
        if self._transaction:
            self._transaction.raise_unseen()
        return len(self)

    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        self._call("purge")
        if in_queue:
            self._drop_queue()

    def init_transactions(self, timeout: float = -1) -> None:
        self._transactional.init()

    def begin_transaction(self) -> None:
        self._transactional.begin()

    def send_offsets_to_transaction(
        self, positions: Sequence[TopicPartition], group_metadata: GroupMetadata, timeout: float = -1
    ) -> None:
        self._transactional.send_offsets(positions, group_metadata.group)

    def commit_transaction(self, timeout: float = -1) -> None:
        self._transactional.commit(self._deliver)

    def abort_transaction(self, timeout: float = -1) -> None:
        self._transactional.abort(self._purge_and_serve)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        self._call("list_topics")
        return cluster_metadata(self._broker, topic)

    def close(self) -> bool:
        if self._closed:
            return True
        self._call("close")
        if self._transaction and self._transaction.open:
            self.abort_transaction()
        self._deliver()
        self._closed = True
        return True

    def __len__(self) -> int:
        return len(self._queue) + len(self._reports)

    def __bool__(self) -> bool:
        return True

    @property
    def _transactional(self) -> Transaction:
        self._check_open()
        if self._transaction is None:
            reason = "The Transactional API requires transactional.id to be configured"
            raise KafkaException(KafkaError(KafkaError._NOT_CONFIGURED, reason))
        return self._transaction

    def _call(self, name: str) -> None:
        failure = self._faults.reach(f"producer.{name}")
        self._check_open()
        if failure:
            raise KafkaException(failure.error())

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Producer has been closed")

    def _check_record(self, entry: Entry) -> None:
        topic = self._broker.topics().get(entry.topic)
        if topic and entry.partition >= len(topic.logs):
            reason = "Unable to produce message: Local: Unknown partition"
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, reason))
        if size_of(entry) + RECORD_OVERHEAD > self._max_bytes:
            reason = "Unable to produce message: Broker: Message size too large"
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, reason))

    def _deliver(self) -> None:
        self._send()
        self._serve()

    def _purge_and_serve(self) -> None:
        self._drop_queue()
        self._serve()

    def _send(self) -> None:
        while self._queue:
            pending = self._queue.pop(0)
            if self._transaction and self._transaction.broken:
                self._report(pending, KafkaError(KafkaError._PURGE_QUEUE))
            elif pending.failure:
                if self._transaction and pending.failure.fatal:
                    self._transaction.fence()
                self._report(pending, pending.failure.error())
            else:
                self._write(pending)

    def _write(self, pending: _Pending) -> None:
        try:
            written = self._append(self._place(pending.entry))
        except KafkaException as refused:
            self._report(pending, refused.args[0])
        else:
            if not self._only_errors:
                self._reports.append(_Report(written, pending.on_delivery, None))

    def _append(self, entry: Entry) -> Entry:
        if self._transaction is None:
            return self._broker.append(entry)
        self._broker.join(self._transaction.owner, entry.topic, entry.partition)
        self._transaction.joined()
        if (entry.topic, entry.partition) in self._skipped:
            self._skipped.clear()
            raise KafkaException(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "skipped sequence numbers"))
        try:
            return self._broker.append(entry, self._transaction.owner)
        except KafkaException:
            self._skipped.add((entry.topic, entry.partition))
            raise

    def _place(self, entry: Entry) -> Entry:
        topic = self._broker.topics().get(entry.topic)
        if topic is None or entry.partition >= 0:
            return entry
        return replace(entry, partition=self._partition_of(entry.key, len(topic.logs)))

    def _report(self, pending: _Pending, error: KafkaError) -> None:
        self._reports.append(_Report(pending.entry, pending.on_delivery, error))
        if self._transaction:
            self._transaction.delivery_failed(error.code())

    def _drop_queue(self) -> None:
        dropped, self._queue = self._queue, []
        for pending in dropped:
            self._report(pending, KafkaError(KafkaError._PURGE_QUEUE))

    def _serve(self) -> int:
        served = 0
        while self._reports:
            report = self._reports.pop(0)
            served += 1
            if report.on_delivery:
                report.on_delivery(report.error, of_delivery(report.entry, report.error))
        return served


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(headers: Mapping[str, Any] | Iterable[tuple[str, Any]] | None) -> Headers:
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return tuple((name, _bytes(value)) for name, value in pairs)
