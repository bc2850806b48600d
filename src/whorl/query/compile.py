"""A component of the plan as one query of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from whorl.config.spec import Watermark
from whorl.errors import PipelineError
from whorl.operators.native import ROW_BY_ROW, Call, Keyed, Native, Query, Unique, goes_by_output
from whorl.operators.operator import OperatorType
from whorl.operators.sqltext import interval
from whorl.plan.plan import Component, Delivery, Input, Output, OutputKind, Placed, Wire
from whorl.query.calls import call_step
from whorl.query.encoding import ready
from whorl.query.errors import Places, told
from whorl.query.failing import judged, settled
from whorl.query.frames import ERROR, EVENT, OF_THE_RECORD, TOPIC, column, good, without_hidden
from whorl.query.keyed import keyed_step
from whorl.query.read import Reading, stream_of
from whorl.query.schemas import schema_of
from whorl.query.steps import chosen, final, row_step, together
from whorl.query.tables import query_step, table_names, unique_step
from whorl.query.ways import Ways
from whorl.query.write import Topics, records
from whorl.schema import Schema


@dataclass(frozen=True)
class Compiled:
    written: DataFrame | None
    """All that goes to topics, as `whorl.query.write` says; None where nothing does."""
    topics: tuple[str, ...]
    """`output` of a row is an index into these."""
    rows: DataFrame | None
    """Of a sink that is no topic; those of a store with what they carry, and with those that failed."""
    schemas: dict[str, Schema]
    """By output: exactly the columns that leave."""
    row_by_row: bool
    endless: bool
    """Whether Spark makes batches for ever, also when there is nothing to read: it goes by the clock."""
    observed: tuple[str, ...]
    """Metrics that count rows which the writer does not get to see, and which `whorl.query.dead` finds again."""

    def by_spark(self, delivery: Delivery) -> bool:
        """Whether Spark's own sinks do it all; else Whorl writes each batch."""
        native = delivery is Delivery.NATIVE and not self.observed
        return native or delivery in (Delivery.REALTIME, Delivery.FILES)


def compile_component(
    session: SparkSession, component: Component, reading: Reading, places: Places, initial: DataFrame | None = None
) -> Compiled:
    """Raises PipelineError, with the line in the pipeline, where Spark does not take it. `initial`: state to begin with."""
    flow = Flow(session, component, reading, places, initial)
    flow.run()
    return flow.compiled()


class Flow:
    """Frames from node to node, in the order of the graph."""

    def __init__(
        self,
        session: SparkSession,
        component: Component,
        reading: Reading,
        places: Places,
        initial: DataFrame | None = None,
    ) -> None:
        self.component = component
        self._initial = initial
        self.reading = reading
        self.observed: list[str] = []
        self._session = session
        self._places = places
        self._made: dict[str, DataFrame] = {}
        self._written: list[DataFrame] = []
        self._rows: DataFrame | None = None
        self._schemas: dict[str, Schema] = {}
        self._endless = False
        self._outputs = {output.id: output for output in component.outputs}
        self._operators = {placed.node.id: placed for placed in component.operators}
        self.natives = {id: _native(placed, placed.enters) for id, placed in self._operators.items()}
        self.row_by_row = all(is_row(native) for native in self.natives.values())
        self._carries = all(is_row(native) or isinstance(native, Keyed) for native in self.natives.values())
        """Whether a row has its record with it to the end, so that the writer sees those that failed."""
        self.topics = _topics(component, reading)

    def run(self) -> None:
        for input in self.component.inputs:
            with told(input.id, self.component, self._places):
                self._enter(input)
        for id, placed in self._operators.items():
            if self._is_next(id):
                with told(id, self.component, self._places):
                    self._leave(id, self._step(placed))

    def compiled(self) -> Compiled:
        written = together(self._written) if self._written else None
        observed = tuple(dict.fromkeys(self.observed))
        return Compiled(written, self.topics.names, self._rows, self._schemas, self.row_by_row, self._endless, observed)

    # -- nodes ------------------------------------------------------------------------------------------------------------------------

    def _enter(self, input: Input) -> None:
        rows = stream_of(self._session, input, self.reading, headers=self._headers())
        action = self._action(input)
        frame = judged(rows, input.id, action)
        if not self._carries and action == "dead_letter":
            frame = self._settled(frame, input.id)
        if input.watermark and not self.row_by_row:
            frame = self._timed(frame, input.watermark)
        self._leave(input.id, without_hidden(frame) if input.is_static else frame)

    def _timed(self, frame: DataFrame, mark: Watermark) -> DataFrame:
        """With several inputs the watermark is that of the last of them, which a row of one of them cannot tell."""
        late = frame.withWatermark(mark.column, interval(mark.delay))
        if not self._carries or len(self.component.inputs) > 1:
            return late
        return late.withColumn(EVENT, F.unix_millis(column(mark.column)) - round(mark.delay * 1000))

    def _action(self, input: Input) -> str:
        """A line of a file that is no row can be read again only in a component that writes it away at once."""
        lost = input.is_static or (not self.reading.topics.get(input.id) and not self._carries)
        return self._possible(final(input.on_error), lost)

    def _possible(self, action: str, lost: bool = False) -> str:
        """Where nobody writes dead letters, a row that would be one ends the query: none is lost in silence."""
        nobody = all(output.kind is OutputKind.FILE for output in self.component.outputs)
        return "fail" if action == "dead_letter" and (lost or nobody) else action

    def _headers(self) -> bool:
        policies = [input.on_error for input in self.component.inputs]
        policies += [placed.node.on_error for placed in self.component.operators]
        dead = any(final(policy) == "dead_letter" for policy in policies)
        return dead or any(output.headers for output in self.component.outputs)

    def _step(self, placed: Placed) -> DataFrame:
        id = placed.node.id
        wires = [wire for wire in self._into(id) if wire.source in self._made]
        operator = placed.node.what
        assert isinstance(operator, OperatorType)
        native = self.natives[id]
        if isinstance(native, Query):
            names = table_names(operator, wires)
            return query_step(self._session, native, {names[wire]: self._plain(wire) for wire in wires})
        if isinstance(native, Unique):
            return unique_step(native, together([self._plain(wire) for wire in wires]))
        frames = [self._along(wire) for wire in wires]
        if len({TOPIC in frame.columns for frame in frames}) > 1:
            frames = [self._of_no_record(frame, wire) for frame, wire in zip(frames, wires, strict=True)]
        if isinstance(native, Keyed):
            names = table_names(operator, wires)
            return self._keyed_step(placed, native, {names[wire]: f for wire, f in zip(wires, frames, strict=True)})
        return self._row_step(placed, together(frames))

    def _keyed_step(self, placed: Placed, native: Keyed, inputs: Mapping[str, DataFrame]) -> DataFrame:
        timed = any(input.watermark for input in self.component.inputs)
        action = self._possible(final(placed.node.on_error))
        made, clock = keyed_step(inputs, placed, native, action, self.component.mode, timed, self._initial)
        self._endless = self._endless or clock == "processing"
        return made

    def _of_no_record(self, frame: DataFrame, wire: Wire) -> DataFrame:
        """Beside rows of an aggregation, which have no record to read again: what fails from here on is its own dead letter, as theirs."""
        return (self._good(frame, wire) if ERROR in frame.columns else frame).drop(*OF_THE_RECORD)

    def _row_step(self, placed: Placed, frame: DataFrame) -> DataFrame:
        """With the columns that Spark says enter."""
        schema = schema_of(without_hidden(frame).schema)
        action = self._possible(final(placed.node.on_error))
        with told(placed.node.id, self.component, self._places):
            native = _native(placed, schema)
            if isinstance(native, Call):
                return call_step(frame, placed, schema, action)
            return row_step(native, frame, placed.node.id, action)

    def _leave(self, id: str, frame: DataFrame) -> None:
        """To what reads it: operators later, outputs now; several ways that stay row by row at once, in one pass."""
        self._made[id] = frame
        ways = Ways(self.component, self.natives, self.topics, self._row_step)
        if self._carries and ways.fit(id):
            self._written.append(ways.followed(frame, id))
            self._made.update(dict.fromkeys(ways.passed, frame))
            for output, rows in ways.schemas.items():
                self._note(output, rows)
            return
        for wire in self._out_of(id):
            if wire.target in self._outputs:
                self._write(self._outputs[wire.target], wire)

    def _write(self, output: Output, wire: Wire) -> None:
        frame = self._along(wire)
        self._note(output.id, frame)
        if not self._carries and TOPIC in frame.columns:
            frame = self._good(frame, wire)
        if output.kind is OutputKind.FILE:
            self._rows = without_hidden(good(frame))
        elif output.kind is OutputKind.STORE:
            self._rows = frame
        else:
            self._written.append(records(ready(frame, output), output, self.topics))

    def _note(self, output: str, frame: DataFrame) -> None:
        self._schemas[output] = schema_of(without_hidden(frame).schema)

    # -- edges ------------------------------------------------------------------------------------------------------------------------

    def _along(self, wire: Wire) -> DataFrame:
        """What passes a wire. Rows that failed take the first one alone, so that each is one dead letter."""
        frame = self._made[wire.source]
        first = wire is self._out_of(wire.source)[0]
        if goes_by_output(self.natives.get(wire.source)):
            frame = chosen(frame, wire.output)
        return frame if first else good(frame)

    def _plain(self, wire: Wire) -> DataFrame:
        frame = self._along(wire)
        if ERROR in frame.columns and TOPIC not in frame.columns:
            raise PipelineError(
                f"'{wire.target}' is behind rules whose rows come from no record, so there is no dead letter to write",
                hint=f"set `on_error: skip` or `fail` on '{wire.source}'",
                code="on-error",
            )
        return without_hidden(self._good(frame, wire) if ERROR in frame.columns else frame)

    def _good(self, frame: DataFrame, wire: Wire) -> DataFrame:
        """Straight from an input, rows that failed are gone already."""
        if wire.source not in self._operators:
            return good(frame)
        return self._settled(frame, f"{wire.source}.{wire.output}.{wire.target}")

    def _settled(self, frame: DataFrame, name: str) -> DataFrame:
        metric = f"{self.component.id}: {name}"
        self.observed.append(metric)
        return settled(frame, metric)

    def _is_next(self, id: str) -> bool:
        return id not in self._made

    def _into(self, id: str) -> list[Wire]:
        return [wire for wire in self.component.wires if wire.target == id]

    def _out_of(self, id: str) -> list[Wire]:
        return [wire for wire in self.component.wires if wire.source == id]


def is_row(native: Native) -> bool:
    """Whether what a record carries stays with it."""
    return isinstance(native, (*ROW_BY_ROW, Call))


def _native(placed: Placed, schema: Schema | None) -> Native:
    operator = placed.node.what
    assert isinstance(operator, OperatorType)
    native = operator.native(schema)
    if native is None:
        raise PipelineError(
            f"'{placed.node.id}' is {placed.node.type}, which does not run in a query with these columns",
            hint="`host: tasks` on it, or declare the columns",
            code="host",
        )
    return native


def _topics(component: Component, reading: Reading) -> Topics:
    names = [output.topic for output in component.outputs if output.kind.is_topic]
    return Topics(
        tuple(dict.fromkeys([*names, reading.dead_letter])),
        reading.partitions,
        reading.dead_letter,
        skips=any(final(placed.node.on_error) == "skip" for placed in component.operators),
    )
