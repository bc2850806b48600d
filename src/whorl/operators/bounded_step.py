"""What a host runs of an operator with state whose keys, or their bytes, are limited; others do not pay for it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from whorl.operators.keyed import Emitted, KeyedOperator
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.record import Metadata, Row
from whorl.state.bounds import Bounds, Limits
from whorl.state.partition import LpState
from whorl.state.states import Lifetime
from whorl.state.timers import Timer


class BoundedStep(KeyedStep):
    _bounds: Bounds

    def __init__(
        self,
        operator: KeyedOperator,
        id: str,
        key_of: Callable[[bytes], Any],
        limits: Limits,
        outputs: Collection[str] = (),
        lifetime: Lifetime | None = None,
        tables: Collection[str] = (),
    ) -> None:
        super().__init__(operator, id, key_of, outputs, lifetime, tables)
        self._limits = limits

    def enter(self, lp: LpState) -> None:
        super().enter(lp)
        self._bounds = lp.bounds(self.id, self._scope.tables, self._limits)

    def process(self, row: Row, metadata: Metadata) -> list[Emitted]:
        mark = len(self._bounds.journal)
        emitted = super().process(row, metadata)
        self._bounds.settle(mark)
        return emitted

    def fire(self, timer: Timer) -> list[Emitted]:
        mark = len(self._bounds.journal)
        emitted = super().fire(timer)
        self._bounds.settle(mark)
        return emitted
