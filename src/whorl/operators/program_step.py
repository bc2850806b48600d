"""What a host runs of a program over whole logical partitions: records and messages wait until there are many, and are handed over at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from whorl.operators.keyed import Emitted
from whorl.operators.keyed_step import KeyedStep, TimerMessage
from whorl.operators.operator import Shape, Step
from whorl.operators.program import PartitionProgram, ProgramContext
from whorl.operators.record import Metadata, Row, with_round
from whorl.state.partition import LpState
from whorl.units import parse_duration

Mark = tuple[int, int]


class ProgramStep(KeyedStep):
    operator: PartitionProgram
    _context: ProgramContext

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._records: list[Any] = []
        self._messages: list[Row] = []
        self._round = 0

    def _made_context(self, id: str, outputs: Collection[str], tables: Collection[str]) -> ProgramContext:
        return ProgramContext(id, outputs, tables, parse_duration)

    def hash_by(self, partition_of: Callable[[bytes, int], int]) -> None:
        """The host's own rule."""
        self._context.hash_by = partition_of

    def read_by(self, anyone: bool) -> None:
        """Whether its rows go anywhere."""
        self._context.is_read = anyone

    def open(self) -> None:
        super().open()
        for lp in list(self._tables):
            self.enter(lp)
            self._context.metadata = self._now(0)
            self.operator.restore(self._context)

    def enter(self, lp: LpState) -> None:
        super().enter(lp)
        self._context.enter(lp)

    def take_record(self, row: Row, metadata: Metadata) -> None:
        self._context.metadata = metadata
        self._records.append(self.operator.parse(row, self._context))

    def take_message(self, row: Row, metadata: Metadata) -> None:
        self._messages.append(row)
        self._round = max(self._round, metadata.round)

    @property
    def mark(self) -> Mark:
        return len(self._records), len(self._messages)

    def drop_to(self, mark: Mark) -> None:
        """Forgets what has come since."""
        del self._records[mark[0] :], self._messages[mark[1] :]

    def run(self) -> list[Emitted]:
        """With all that waits; gives what it emitted and sent."""
        records, messages, round = self._records, self._messages, self._round
        self._records, self._messages, self._round = [], [], 0
        context = self._context
        emitted: list[Emitted] = []
        context._emitted = emitted
        if records:
            context.metadata = self._now(0)
            self.operator.process_many(records, context)
        if messages:
            context.metadata = self._now(round)
            self.operator.receive(messages, context)
        return emitted

    def _now(self, round: int) -> Metadata:
        """Many records have led to what it emits: it has a time, and no place."""
        return Metadata(TimerMessage(None, self._context._lp.clocks.clock, with_round(None, round)), None)


def program_step(make: Callable[[], PartitionProgram], *rest: Any) -> Step:
    """The step of an operator type that is a program; `rest` as `KeyedStep` takes it, from `key_of` on."""
    return Step(Shape.KEYED, make, keyed=lambda id: ProgramStep(make(), id, *(rest or (bytes,))))
