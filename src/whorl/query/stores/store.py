"""What a store is: where a query writes batch by batch that is no topic.

The law: `write` may be called again with the same order, after any failure, and what it has written is as if it had been called once, or,
where a store cannot promise that, its sink's `guarantee` says so. Rows that it refuses are handed to `reject` before anything is
committed, so that none is lost. A server that is away raises `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

ROW = "__whorl_row"
"""The number of a row in its batch: it grows within a partition."""
Reject = Callable[[Mapping[int, str]], None]
"""Rows by number, with the reason."""


@dataclass(frozen=True)
class Order:
    """Which batch this is."""

    pipeline: str
    component: str
    uid: str
    run: int
    """Of the driver's starts."""
    seq: int
    """Of the batch: grows, and stays what it was when the batch is repeated."""

    @property
    def writer(self) -> str:
        return f"{self.uid}.{self.component}"


class Store(Protocol):
    def fitted(self, rows: DataFrame) -> DataFrame:
        """The same rows; those that cannot go there have failed (`whorl.query.frames`). They have a `ROW`."""

    def write(self, rows: DataFrame, order: Order, reject: Reject) -> bool:
        """All of these rows; False where this batch was written before."""
