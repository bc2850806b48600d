"""A topic read from its start and then on, as committed, for as long as somebody wants it."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.errors import Unavailable, WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.reading import STEADY

_BULK = 10_000
_ANSWER = 5.0


class Follower:
    def __init__(self, clients: Clients, topic: str) -> None:
        self._topic = topic
        self._consumer = clients.consumer(
            **{"auto.offset.reset": "earliest", "isolation.level": "read_committed", **STEADY}
        )
        try:
            self.count = self.partitions()
            self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(self.count)])
        except BaseException:
            self._consumer.close()
            raise
        self._before_end = set(range(self.count))

    @property
    def was_at_end(self) -> bool:
        """Whether each partition was read to its end at least once."""
        return not self._before_end

    def read(self, timeout: float) -> list[Any] | None:
        """What has come; None where nothing did, which may be less than an end."""
        first = self._consumer.poll(timeout)
        if first is None:
            return None
        return [message for message in (first, *self._consumer.consume(_BULK, 0)) if self._is_record(message)]

    def _is_record(self, message: Any) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.code() == KafkaError._PARTITION_EOF:
            self._before_end.discard(message.partition())
        elif not error.retriable():
            raise KafkaException(error)
        return False

    def partitions(self) -> int:
        """How many it has now. Raises Unavailable where the broker does not answer."""
        try:
            found = self._consumer.list_topics(self._topic, timeout=_ANSWER).topics[self._topic]
        except KafkaException as error:
            what = f"topic '{self._topic}' cannot be followed: {error.args[0].str()}"
            raise Unavailable(what, hint="is its broker up?", code="consume") from None
        if found.error is not None or not found.partitions:
            raise WorldError(
                f"there is no topic '{self._topic}'", hint="'whorl topics list' shows them", code="no-topic"
            )
        return len(found.partitions)

    def close(self) -> None:
        self._consumer.close()
