"""Operators that keep one value for each key, and give one row for each record: running counts, sums and the like.

What they do is a function of the value before and the record, so a host may run it without the ways and means of `process`: no context,
no list of what was emitted, no copies of the value. That is worth half of the time of a record.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from whorl.formats.codec import Codec
from whorl.operators.bounded_step import BoundedStep
from whorl.operators.fold_source import Column, Folded, FoldMany, Inlined, fold_many
from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.keyed_step import KeyedStep, no_key
from whorl.operators.record import Metadata, Row
from whorl.state.bounds import Limits
from whorl.state.partition import LpState
from whorl.state.states import Lifetime
from whorl.state.table import Table
from whorl.state.values import ABSENT, GONE, Timed, own


class Fold(KeyedOperator):
    """Its one state is the `ValueState` that `kept` names."""

    kept: ClassVar[str]
    fresh: ClassVar[bool] = False
    """What `fold` keeps is made anew each time of numbers and text, in no row, so that nobody else could change it."""

    @abstractmethod
    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        """What is kept from now on (None: nothing), and the row that leaves. `before` is None where nothing is kept, and must not be
        changed."""

    def inlined(self, column: Column) -> Inlined | None:
        """`fold` as source, for many records at once; None: it is called for each. Whatever it keeps is `fresh`."""
        return None

    def process(self, key: Any, record: Row, context: Context) -> None:
        state = getattr(self, self.kept)
        value, row = self.fold(state.get(), record)
        if value is None:
            state.clear()
        else:
            state.set(value)
        context.emit(row)


class FoldStep(KeyedStep):
    _table: Table

    def __init__(self, operator: Fold, id: str, key_of: Callable[[bytes], Any], lifetime: Lifetime) -> None:
        super().__init__(operator, id, key_of, (), lifetime)
        self._fold, self._fresh, self._inlined = operator.fold, operator.fresh, operator.inlined
        self.lasts = not lifetime.get("ttl")
        """Whether what it keeps never ends."""
        self.fold: Callable[[Row, Metadata], Row] = self._for_ever if self.lasts else self._for_a_time

    def enter(self, lp: LpState) -> None:
        super().enter(lp)
        (self._table,) = self._scope.tables

    def _for_ever(self, row: Row, metadata: Metadata) -> Row:
        key = metadata.key
        if key is None:
            raise no_key()
        table = self._table
        values = table.values
        before = held = values.get(key, ABSENT)
        if held is ABSENT:
            held = self._committed(key)
        if held is GONE:
            held = None
        value, result = self._fold(held, row) if self._fresh else self._with_own(held, row)
        table.note((values, key, before))
        values[key] = GONE if value is None else value
        return result

    def fold_all(self, fold_many: FoldMany, keys: list[bytes | None], datas: list[bytes | None]) -> Folded:
        """As `fold` of one after the other, where what is kept `lasts`. Nothing of it is kept before `keep`."""
        if None in keys:
            raise no_key()
        table = self._table
        committed = table.committed_many(keys)  # type: ignore[arg-type]
        return fold_many(keys, datas, table.values.get, committed.get, table.peek)

    def keep(self, kept: dict[bytes, Any]) -> None:
        """Nothing can fail any more: there is no way back."""
        self._table.values.update(kept)

    def fold_many(self, read: Codec, written: Codec) -> FoldMany:
        """For `fold_all`, of records that are read and written so."""
        return fold_many(self._fold if self._fresh else self._with_own, self._inlined, read, written)

    def _with_own(self, held: Any, row: Row) -> tuple[Any, Row]:
        value, result = self._fold(own(held), row)
        return own(value), result

    def _committed(self, key: bytes) -> Any:
        held = self._table.committed(key)
        if held.__class__ is Timed:  # written when there was a time to live
            held = self._table.peek(key)
        return held

    def _for_a_time(self, row: Row, metadata: Metadata) -> Row:
        ((_, result, _),) = self.process(row, metadata)
        return result


def step_of(
    operator: KeyedOperator, id: str, key_of: Callable[[bytes], Any], lifetime: Lifetime, limits: Limits
) -> KeyedStep:
    if limits:
        return BoundedStep(operator, id, key_of, limits, lifetime=lifetime)
    if isinstance(operator, Fold):
        return FoldStep(operator, id, key_of, lifetime)
    return KeyedStep(operator, id, key_of, (), lifetime)
