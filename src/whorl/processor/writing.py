"""Elements of an RDD as records of a topic: executors produce them, with producers that each Python worker keeps.

At least once: returns when all of them are at the broker; a Spark task that is tried again writes its share again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any

import orjson
from confluent_kafka import KafkaError
from pyspark import RDD

from whorl.errors import PipelineError, Unavailable
from whorl.kafka.clients import KafkaClients
from whorl.kafka.pool import Pool
from whorl.kafka.transactions import hand_over
from whorl.processor.records import KafkaRecord
from whorl.processor.used import Used
from whorl.sinks.kafka import BY_KEY, key_bytes
from whorl.tasks.clients import TaskClients

_PRODUCERS: Pool[Any] = Pool(lambda producer: producer.flush(10))
"""Of this Python worker."""
_SETTINGS = {"linger.ms": 5, "queue.buffering.max.messages": 500_000, "batch.num.messages": 10_000}


def write_rdd(records: RDD[Any], topic: str, clients: KafkaClients, used: Used) -> None:
    records.foreachPartition(partial(_produce_all, clients.address, dict(clients.extra), topic, used))


def _produce_all(address: str, extra: dict[str, Any], topic: str, used: Used, elements: Iterable[Any]) -> None:
    clients = TaskClients(address, extra)
    kind = (address, repr(sorted(extra.items())))
    with (
        used.counting(_PRODUCERS),
        _PRODUCERS.borrowed(kind, topic, lambda: clients.producer(**_SETTINGS)) as producer,
    ):
        produce_all(producer, topic, elements)


def produce_all(producer: Any, topic: str, elements: Iterable[Any]) -> None:
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is not None:
            failed.append(error)

    hand_over(producer, (_entry(topic, each, delivered) for each in elements), producer.poll)
    while producer.flush(1.0):
        pass
    if failed:
        raise Unavailable(f"'{topic}' did not take {len(failed)} records: {failed[0].str()}", hint="they come again")


def _entry(topic: str, element: Any, delivered: Callable[..., None]) -> tuple[Any, ...]:
    """As `Producer.produce` takes it: a record that was fetched with its key, headers and time; (key, value); or a value."""
    if isinstance(element, KafkaRecord):
        value, key = value_bytes(element.value), key_bytes(element.key)
        return topic, value, key, BY_KEY, delivered, None, max(element.timestamp, 0), element.headers or None
    key, value = element if isinstance(element, tuple) and len(element) == 2 else (None, element)
    return topic, value_bytes(value), key_bytes(key), BY_KEY, delivered, None, 0, None


def value_bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    try:
        return orjson.dumps(value, default=_decimal)
    except TypeError:
        hint = "give bytes, text, what JSON can hold, (key, value), or a record that was fetched"
        raise PipelineError(f"{type(value).__name__} is no value of a record", hint=hint, code="produce") from None


def _decimal(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError
