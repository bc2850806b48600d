"""How often executors opened a Kafka client, and how often they found one that they had: told to the driver as their tasks end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark import Accumulator, SparkContext

from whorl.kafka.pool import Pool


@dataclass(frozen=True)
class Used:
    opened: Accumulator[int]
    reused: Accumulator[int]

    @classmethod
    def of(cls, context: SparkContext) -> Used:
        return cls(context.accumulator(0), context.accumulator(0))

    @contextmanager
    def counting(self, pool: Pool[Any]) -> Iterator[None]:
        """In a task: what it adds to the counts of its worker's pool."""
        opened, reused = pool.counts.opened, pool.counts.reused
        try:
            yield
        finally:
            self.opened.add(pool.counts.opened - opened)
            self.reused.add(pool.counts.reused - reused)

    def told(self) -> dict[str, int]:
        """On the driver."""
        return {"opened": self.opened.value, "reused": self.reused.value}
