"""What a component does with one record: decode, the chain of operators, encode. Nothing here touches Kafka.

A record is processed whole or not at all: what it emits waits in the journal, and if any operator raises the journal is dropped, so that a
dead-lettered record left no trace elsewhere and can be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from whorl.formats import codec
from whorl.formats.codec import TOMBSTONE
from whorl.kafka.partitioner import partition_of
from whorl.operators.chain import Chain, ChainNode, StepFailed
from whorl.operators.keyed import table_of
from whorl.operators.operator import ErrorPolicy, OperatorType
from whorl.operators.record import Message, Metadata, Row
from whorl.plan.plan import Component, Input, Output
from whorl.sinks.kafka import Entry, copier, emitter, entry_maker
from whorl.sinks.rounds import round_emitter
from whorl.state.partition import LpState
from whorl.tasks.assignment import Assignment
from whorl.tasks.folding import folder, only_fold
from whorl.tasks.publishing import Publishing
from whorl.tasks.turns import bounded, combiners, marked

Handle = Callable[[Message], None]
HandleAll = Callable[[list[Message]], None]


class Work:
    """The component's operators, opened for one task."""

    def __init__(self, assignment: Assignment) -> None:
        self.journal: list[Entry] = []
        self._taken = 0
        self._assignment, component = assignment, assignment.component
        self._chain = _chain(component, _emitters(assignment, self.journal.append))
        self.policies = _policies(component)
        self.handles: dict[str, Handle] = {
            topic: self._keep(input) if input.is_table else bounded(component, input, self._handle(input))
            for input in component.inputs
            for topic in assignment.topics[input.id]
        }
        self.together = _copiers(assignment, self.journal.extend) if component.raw else self._together()
        """By topic, how many records are tried at once; nothing where each is tried alone."""
        self.publishing = Publishing(component.published, self._chain.keyed, assignment.limits)
        self.fire = self._chain.fire
        self.flush = self._chain.flush
        self.run_programs = self._chain.run_programs
        self.end_superstep = self._chain.end_superstep
        self.keyed = self._chain.keyed
        self.has_programs = bool(self._chain.programs)
        self.combiners = combiners(component, self._chain.keyed)
        self.open = self._chain.open
        self.close = self._chain.close
        self.keeps_state = bool(self._chain.keyed)
        self.keeps_for_a_time = any(step.keeps_for_a_time for step in self._chain.keyed.values())
        self.has_bulk = self._chain.has_bulk
        self.event_times = {
            topic: event_time(input)
            for input in component.inputs
            if input.watermark
            for topic in assignment.topics[input.id]
        }
        """By topic: how the event time of a record is told, where somebody goes by it."""
        if self.event_times:
            self.together = {}

    def enter(self, lp: LpState) -> None:
        """From now on records and timers are those of this logical partition."""
        self._lp = lp
        for step in self._chain.keyed.values():
            step.enter(lp)

    def whole(self, attempt: Callable[[Any], None]) -> Callable[[Any], None]:
        """`attempt` so that it emits and keeps all or nothing: what it has left when it raises is dropped."""
        return self._whole_with_state(attempt) if self.keeps_state else self._whole(attempt)

    def _whole_with_state(self, attempt: Callable[[Any], None]) -> Callable[[Any], None]:
        lp = self._lp
        stateless = self._whole(attempt if lp.check is None else _and(attempt, lp.check))

        def all_or_nothing(records: Any) -> None:
            try:
                stateless(records)
            except BaseException:
                lp.undo()
                raise
            lp.keep()

        return all_or_nothing

    def _whole(self, attempt: Callable[[Any], None]) -> Callable[[Any], None]:
        journal, drop = self.journal, self._chain.drop
        if self.has_programs:
            return marked(attempt, journal, drop, self._chain.programs.values())

        def all_or_nothing(records: Any) -> None:
            mark = len(journal)
            try:
                attempt(records)
            except BaseException:
                del journal[mark:]
                drop()
                raise

        return all_or_nothing

    def _together(self) -> dict[str, HandleAll]:
        """Bulk steps and programs want it so; for folds, which are fast, it spares what trying each record alone takes."""
        if not self._chain.has_bulk and not self._chain.folds and not self._chain.programs:
            return {}
        assignment, handles = self._assignment, self.handles
        return {
            topic: self._folder(input, self._all(handles[topic]))
            for input in assignment.component.inputs
            for topic in assignment.topics[input.id]
        }

    def _folder(self, input: Input, each: HandleAll) -> HandleAll:
        """As `each`, but all in one loop, where the way is that simple, and nobody wants to look at what each record writes."""
        assignment = self._assignment
        found = only_fold(assignment.component, input, self._chain.keyed) if self._chain.folds else None
        if found is None:
            return each
        step, output = found
        fold_many = step.fold_many(codec(input.format, input.schema), codec(output.format, output.schema))
        entries_of = entry_maker(output, assignment.partitions[output.topic], assignment.limits[output.topic])
        fold_all = folder(step, fold_many, entries_of, self.journal.extend)
        return lambda messages: fold_all(messages) if self._lp.check is None else each(messages)

    def _all(self, handle: Handle) -> HandleAll:
        def handle_all(messages: list[Message]) -> None:
            for message in messages:
                handle(message)
            self.flush()

        return handle_all

    def take(self) -> list[Entry]:
        """What was emitted since the last call."""
        entries = self.journal[:]
        self.journal.clear()
        self._taken += len(entries)
        return entries

    def taken(self) -> int:
        """How many entries were taken since this was asked last."""
        taken, self._taken = self._taken, 0
        return taken

    def _handle(self, input: Input) -> Handle:
        entry = self._chain.entry(input.id)
        if input.raw:
            return lambda message: entry(message.value(), Metadata(message, message.key()))  # type: ignore[arg-type]
        decode, source = codec(input.format, input.schema).decode, input.id
        plain = input.format.type in ("text", "bytes")

        def handle(message: Message) -> None:
            try:
                row = decode(message.value())
                if row is None and plain:
                    row = {"value": None}
                if row is None:
                    raise ValueError(TOMBSTONE)
            except Exception as error:
                raise StepFailed(source, error) from error
            entry(row, Metadata(message, message.key()))

        return handle

    def _keep(self, input: Input) -> Handle:
        """A row of a table stays, in place of the one before; without a value it goes."""
        decode, id = codec(input.format, input.schema).decode, input.id

        def keep(message: Message) -> None:
            try:
                key, row = message.key(), decode(message.value())
                if key is None:
                    raise ValueError("a row of a table needs a key")
            except Exception as error:
                raise StepFailed(id, error) from error
            table = table_of(self._lp, id)
            if row is None:
                table.delete(key)
            else:
                table.put(key, row)

        return keep


def _and(attempt: Callable[[Any], None], check: Callable[[], None]) -> Callable[[Any], None]:
    def both(records: Any) -> None:
        attempt(records)
        check()

    return both


def event_time(input: Input) -> Callable[[Message], int | None]:
    """In ms, less the delay; None of a record that has none, or is no row."""
    assert input.watermark is not None
    decode, column = codec(input.format, input.schema).decode, input.watermark.column
    delay = round(input.watermark.delay * 1000)

    def of(message: Message) -> int | None:
        try:
            moment = (decode(message.value()) or {}).get(column)
            return None if moment is None else round(moment.timestamp() * 1000) - delay
        except Exception:  # told by the step that reads it
            return None

    return of


def _chain(component: Component, emitters: Mapping[str, Callable[[Row, Metadata], None]]) -> Chain:
    nodes = []
    for placed in component.operators:
        assert isinstance(placed.node.what, OperatorType)
        nodes.append(ChainNode(placed.node.id, placed.node.what, placed.enters))
    edges = [(wire.source, wire.target, wire.output) for wire in component.wires]
    names = {wire.source: wire.name for wire in component.wires if wire.name}
    chain = Chain(nodes, edges, emitters, names, [input.id for input in component.feedback])
    for program in chain.programs.values():
        program.hash_by(partition_of)
    return chain


def _emitters(assignment: Assignment, append: Callable[[Entry], None]) -> dict[str, Callable[[Row, Metadata], None]]:
    return {output.id: _emitter(output, assignment, append) for output in assignment.component.outputs}


def _emitter(output: Output, assignment: Assignment, append: Callable[[Entry], None]) -> Any:
    encode = (lambda value: value) if assignment.component.raw else codec(output.format, output.schema).encode
    make = round_emitter if assignment.component.in_loop else emitter
    return make(output, encode, assignment.partitions[output.topic], assignment.limits[output.topic], append)


def _copiers(assignment: Assignment, extend: Callable[[Iterable[Entry]], None]) -> dict[str, HandleAll]:
    """For a component that nothing looks into: every record goes to each output once for each way there."""
    component = assignment.component
    after: dict[str, list[str]] = {}
    for wire in component.wires:
        after.setdefault(wire.source, []).append(wire.target)
    outputs = {output.id: output for output in component.outputs}

    def reached(id: str) -> list[str]:
        return [id] if id in outputs else [end for target in after.get(id, []) for end in reached(target)]

    def to_all(ends: list[str]) -> HandleAll:
        topics = [outputs[end].topic for end in ends]
        copies = [
            copier(outputs[end], assignment.partitions[topic], assignment.limits[topic], extend)
            for end, topic in zip(ends, topics, strict=True)
        ]

        def copy(messages: list[Message]) -> None:
            for each in copies:
                each(messages)

        return copy

    return {topic: to_all(reached(input.id)) for input in component.inputs for topic in assignment.topics[input.id]}


def _policies(component: Component) -> dict[str, ErrorPolicy]:
    """The error policy of every source, operator and output by id; an output has its own only as a sink, here the default."""
    policies = {input.id: input.on_error for input in component.inputs}
    policies.update({placed.node.id: placed.node.on_error for placed in component.operators})
    return {**{output.id: ErrorPolicy() for output in component.outputs}, **policies}
