"""Kafka clients of the data path: they open inside a Spark task and nowhere else, and each process knows how many it has."""

from __future__ import annotations

import weakref
from typing import Any

from confluent_kafka import Consumer, Producer
from pyspark import TaskContext

from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients

_COUNTS = {"consumers": 0, "producers": 0, "opened": 0}


def connections() -> dict[str, int]:
    """Consumers and producers that are open in this process, and how many of both were opened in its life."""
    return dict(_COUNTS)


def _count(client: object, kind: str) -> weakref.finalize[Any, Any]:
    """Until it is closed, or nobody has it any more."""
    _COUNTS["opened"] += 1
    _COUNTS[kind] += 1
    return weakref.finalize(client, _uncount, kind)


def _uncount(kind: str) -> None:
    _COUNTS[kind] -= 1


class CountedConsumer(Consumer):  # type: ignore[misc]
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self._counted = _count(self, "consumers")

    def close(self) -> None:
        super().close()
        self._counted()


class CountedProducer(Producer):  # type: ignore[misc]
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        _count(self, "producers")


class TaskClients(KafkaClients):
    """Refuses to open a client where there is no Spark task: every record moves on an executor."""

    kinds = (CountedConsumer, CountedProducer)

    def consumer(self, **config: Any) -> Any:
        _inside_a_task()
        return super().consumer(**config)

    def producer(self, **config: Any) -> Any:
        _inside_a_task()
        return super().producer(**config)


def _inside_a_task() -> None:
    if TaskContext.get() is None:
        raise WorldError(
            "a client of the data path was opened outside a Spark task",
            hint="records move on executors only; in tests use whorl.testing",
            code="not-in-task",
        )
