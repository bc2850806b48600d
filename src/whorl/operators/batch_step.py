"""What a host runs of an operator that takes many records at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whorl.operators.keyed import BatchOperator
from whorl.operators.keyed_step import KeyedStep, no_key
from whorl.operators.record import Metadata, Row


class BatchStep(KeyedStep):
    operator: BatchOperator

    def open(self) -> None:
        # Loading it takes its time, which those who use none need not spend.
        self._arrow: Any = import_module("pyarrow")
        super().open()

    def process_many(self, rows: list[Row], metadata: list[Metadata]) -> list[Row | None]:
        """One result for each row."""
        keys = [each.key for each in metadata if each.key is not None]
        if len(keys) < len(rows):
            raise no_key()
        self._scope.keys = frozenset(keys)
        try:
            result = self.operator.process_batch(keys, self._arrow.RecordBatch.from_pylist(rows), self._context)
        finally:
            self._scope.keys = ()
        if isinstance(result, self._arrow.RecordBatch | self._arrow.Table):
            result = result.to_pylist()
        found: list[Row | None] = [None] * len(rows) if result is None else result
        return found
