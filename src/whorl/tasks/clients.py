"""Kafka clients of the data path: they open inside a Spark task and nowhere else."""

from __future__ import annotations

from typing import Any

from pyspark import TaskContext

from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients


class TaskClients(KafkaClients):
    """Refuses to open a client where there is no Spark task: every record moves on an executor."""

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
