"""The dead letters of one batch, found by reading its records again: of components in which the writer does not get to see them."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from whorl.plan.plan import Component, Input
from whorl.query.compile import Flow, is_row
from whorl.query.errors import Places
from whorl.query.frames import ERROR
from whorl.query.read import Reading
from whorl.query.steps import together
from whorl.query.write import dead_records


def dead_letters(
    session: SparkSession, component: Component, reading: Reading, places: Places
) -> tuple[DataFrame, tuple[str, ...]]:
    """As `Compiled.written` and `Compiled.topics` are. `reading` has the ends of the batch."""
    flow = _Again(session, component, reading, places)
    flow.run()
    topics = replace(flow.topics, names=(reading.dead_letter,))
    return together([dead_records(frame, topics) for frame in flow.ends]), topics.names


class _Again(Flow):
    """As far as rows carry the record they came from; those that failed stay among the others up to there."""

    def __init__(self, session: SparkSession, component: Component, reading: Reading, places: Places) -> None:
        super().__init__(session, component, reading, places)
        self.ends: list[DataFrame] = []
        self._recordless = {input.id for input in component.inputs if input.is_static}
        for id, native in self.natives.items():
            if not is_row(native) or any(wire.source in self._recordless for wire in self._into(id)):
                self._recordless.add(id)

    def _enter(self, input: Input) -> None:
        if self.reading.topics.get(input.id):
            super()._enter(input)

    def _is_next(self, id: str) -> bool:
        return id not in self._recordless and any(wire.source in self._made for wire in self._into(id))

    def _leave(self, id: str, frame: DataFrame) -> None:
        self._made[id] = frame
        for wire in self._out_of(id)[:1]:
            follows = wire.target in self.natives and wire.target not in self._recordless
            if not follows and ERROR in frame.columns:
                self.ends.append(frame)

    def _settled(self, frame: DataFrame, name: str) -> DataFrame:
        return frame
