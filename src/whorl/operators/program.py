"""Operators that see a logical partition (lp) as a whole, and send messages to other lps, as users write them:

    class Smallest(PartitionProgram):
        seen = ValueState(int)

        def restore(self, context):
            context.memory["least"] = min((value for _, value in self.seen.view().items()), default=None)

        def process_many(self, records, context):
            for record in records:
                self.seen.view().put(record["name"].encode(), record["number"])
            ...
            context.send(0, {"least": context.memory["least"]})

        def receive(self, messages, context):
            ...

Any lp may get any record from outside: which keys belong to it is the program's own affair, as `context.partition_of` says. Messages to one
lp come in the order in which another sent them; each comes once. What a program keeps in memory beside its states is in `context.memory`:
it cannot be undone, so an error in `process_many` or `receive` ends the job. Records are judged in `parse`, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.record import LOOP, Addressed, Row
from whorl.state.partition import LpState


class PartitionProgram(KeyedOperator):
    """Base of programs over whole logical partitions. States are class attributes, as those of a `KeyedOperator`; `view()` of a
    `ValueState` has all keys of the lp."""

    def restore(self, context: ProgramContext) -> None:
        """Once for each lp, before its first record, and again after an abort: makes of the states what is kept in `context.memory`."""

    def parse(self, row: Row, context: ProgramContext) -> Any:
        """What `process_many` gets of a record. One that raises sends the record where its `on_error` says."""
        return row

    def process_many(self, records: list[Any], context: ProgramContext) -> None:
        """Records from outside, in order, as `parse` gave them."""
        raise NotImplementedError(f"'{type(self).__qualname__}' has no method 'process_many(self, records, context)'")

    def receive(self, messages: list[Row], context: ProgramContext) -> None:
        """What was sent to this lp, in the order it was sent in by each."""
        raise NotImplementedError(f"'{type(self).__qualname__}' has no method 'receive(self, messages, context)'")


class ProgramContext(Context):
    """What a program knows of the lp it works on, and how its rows and messages leave."""

    __slots__ = ("_memories", "hash_by", "is_read", "memory")

    def __init__(
        self, id: str, outputs: Collection[str], tables: Collection[str], seconds: Callable[[str], float]
    ) -> None:
        super().__init__(id, (*(outputs or ("",)), LOOP), tables, seconds)
        self._memories: dict[LpState, dict[str, Any]] = {}
        self.memory: dict[str, Any] = {}
        """The program's own, of this lp; it lasts until the task ends or starts over."""
        self.is_read = True
        """Whether anyone reads the rows that it emits: where nobody does, a program need not make them."""
        self.hash_by: Callable[[bytes, int], int]
        """(key, partitions): as the topics that are sorted by key are."""

    @property
    def partition(self) -> int:
        """This lp."""
        return self._lp.number

    @property
    def partitions(self) -> int:
        """How many lps there are."""
        return self._lp.lps

    def partition_of(self, key: bytes) -> int:
        """The lp that a key belongs to, by Kafka's own rule."""
        return self.hash_by(key, self._lp.lps)

    def send(self, partition: int, message: Row) -> None:
        """A message to an lp, this one too. It may hold many pairs: one of a thousand costs far less than a thousand of one."""
        if not 0 <= partition < self._lp.lps:
            raise ValueError(f"there is no partition {partition}: they are 0 to {self._lp.lps - 1}")
        self._emitted.append((LOOP, message, Addressed(self.metadata.message, partition)))

    def enter(self, lp: LpState) -> None:
        self._lp = lp
        self.memory = self._memories.setdefault(lp, {})
