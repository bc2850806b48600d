"""Several ways from one place, all of them row by row: Spark goes them in one pass over the rows, and reads the source once.

As on the other host, a row is processed whole or not at all: one that fails on any way leaves no trace on the others. A row that is not
on the way being followed is marked instead of left out (`frames.ON`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whorl.operators.native import ROW_BY_ROW, Explode, Native, Sort, goes_by_output
from whorl.plan.plan import Component, Output, Placed, Wire
from whorl.query.encoding import ready
from whorl.query.frames import CHOICE, ENCODED, KEY, ON, column, columns, hidden, keep, visible
from whorl.query.write import Topics, all_records, entry, on_its_way

Step = Callable[[Placed, DataFrame], DataFrame]
_OF_THE_WAY = (KEY, ON, CHOICE)
"""What a record carries and a step may change: each way begins with what was there before."""


class Ways:
    def __init__(self, component: Component, natives: Mapping[str, Native], topics: Topics, step: Step) -> None:
        self.schemas: dict[str, DataFrame] = {}
        """By output: the rows that leave for it."""
        self.passed: list[str] = []
        """The operators on the ways."""
        self._component, self._natives, self._topics, self._step = component, natives, topics, step
        self._outputs = {output.id: output for output in component.outputs}
        self._operators = {placed.node.id: placed for placed in component.operators}
        self._entries: list[str] = []

    def fit(self, id: str) -> bool:
        """Whether more than one way leads on from here, and all of them can be gone at once."""
        return len(self._out_of(id)) > 1 and all(self._fits(wire.target) for wire in self._out_of(id))

    def _fits(self, id: str) -> bool:
        if id in self._outputs:
            return self._outputs[id].kind.is_topic
        alone = sum(wire.target == id for wire in self._component.wires) == 1
        native = self._natives[id]
        here = alone and isinstance(native, ROW_BY_ROW) and not isinstance(native, Explode | Sort)
        return here and all(self._fits(wire.target) for wire in self._out_of(id))

    def followed(self, frame: DataFrame, id: str) -> DataFrame:
        """All that is written on the ways from this node."""
        gone = self._from(frame.withColumn(ON, F.lit(True)), id)
        return all_records(gone, self._entries, self._topics)

    def _from(self, frame: DataFrame, id: str) -> DataFrame:
        wires = self._out_of(id)
        for wire in wires[:-1]:
            saved = f"__whorl_at_{id}"
            there = [*(name for name in _OF_THE_WAY if name in frame.columns), *visible(frame)]
            before = frame.select(
                *columns(hidden(frame)), *columns(visible(frame)), F.struct(*columns(there)).alias(saved)
            )
            frame = _back(self._way(before, wire), saved, there)
        return self._way(frame, wires[-1]) if wires else frame

    def _way(self, frame: DataFrame, wire: Wire) -> DataFrame:
        if goes_by_output(self._natives.get(wire.source)):
            frame = keep(frame, F.col(CHOICE) == wire.output).drop(CHOICE)
        if wire.target in self._outputs:
            return self._arrive(frame, self._outputs[wire.target])
        self.passed.append(wire.target)
        return self._from(self._step(self._operators[wire.target], frame), wire.target)

    def _arrive(self, frame: DataFrame, output: Output) -> DataFrame:
        self.schemas[output.id] = frame
        self._entries.append(f"__whorl_entry_{len(self._entries)}")
        tried = ready(frame, output)
        made = tried.withColumn(self._entries[-1], on_its_way(tried, entry(tried, output, self._topics)))
        return made.drop(ENCODED)

    def _out_of(self, id: str) -> list[Wire]:
        return [wire for wire in self._component.wires if wire.source == id]


def _back(frame: DataFrame, saved: str, there: list[str]) -> DataFrame:
    """What it was at the fork, with what the way has added."""
    kept = [name for name in hidden(frame) if name != saved and name not in there]
    return frame.select(*columns(kept), *[column(saved).getField(name).alias(name) for name in there])
