"""All steps of a component as one function from a row to what leaves it: the hot path.

The operators downstream of an input become the source of one Python function, compiled once: a filter is an `if` in it, a map
an assignment. Rows go depth first, and to several targets in the order of the edges, so order is kept on every way. An error
belongs to the step that raised it: only a step's own call stands inside its `try`, never what follows. A row that goes
to several targets is copied for those that are user code, so that none sees what another changed.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from whorl.errors import WhorlError
from whorl.operators.batch_step import BatchStep
from whorl.operators.fold import FoldStep
from whorl.operators.keyed import Emitted
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.operator import OperatorType, Shape, Step
from whorl.operators.places import user_place
from whorl.operators.program_step import ProgramStep
from whorl.operators.record import LOOP, Metadata, Record, Row
from whorl.schema import Schema
from whorl.state.timers import Timer

Emit = Callable[[Row, Metadata], None]
Edge = tuple[str, str, str]
_INDENT = "    "
_MAX_DEPTH = 12
_FILES = itertools.count(1)
CHAIN_FILE = "<chain "
"""How the file names of written functions begin; linecache knows their lines, for traces and for `whorl.operators.stuck`."""


@dataclass(frozen=True, slots=True)
class ChainNode:
    """An operator, or a sink where `operator` is None; `schema` is what enters it."""

    id: str
    operator: OperatorType | None
    schema: Schema | None = None


class StepFailed(Exception):
    """A step raised on a record; `cause` is what it raised, a `Retry` too."""

    __slots__ = ("cause", "operator")

    def __init__(self, operator: str, cause: BaseException) -> None:
        super().__init__(operator, cause)
        self.operator = operator
        self.cause = cause

    def __str__(self) -> str:
        return f"operator '{self.operator}' failed: {type(self.cause).__name__}: {self.cause}"


class Bulk:
    """What waits for a step that takes many rows at once."""

    __slots__ = ("call", "id", "metadata", "next", "rows")

    def __init__(self, id: str, call: Callable[..., Any]) -> None:
        self.id = id
        self.call = call
        self.rows: list[Row] = []
        self.metadata: list[Metadata] = []
        self.next: Emit = _nowhere

    def push(self, row: Row, metadata: Metadata) -> None:
        self.rows.append(row)
        self.metadata.append(metadata)

    def flush(self) -> None:
        rows, metadata = self.rows, self.metadata
        self.rows, self.metadata = [], []
        for row, meta in self._results(rows, metadata):
            self.next(row, meta)

    def _results(self, rows: list[Row], metadata: list[Metadata]) -> list[tuple[Row, Metadata]]:
        try:
            results = self.call(rows, metadata)
            if not isinstance(results, list | tuple) or len(results) != len(metadata):
                raise TypeError(
                    f"a bulk of {len(metadata)} rows needs a list of as many results, not {_described(results)}"
                )
            return [pair for result, meta in zip(results, metadata, strict=True) for pair in spread(result, meta)]
        except Exception as error:
            raise StepFailed(self.id, error) from error


class Chain:
    """Steps of one task. Not for use by several threads."""

    def __init__(
        self,
        nodes: Sequence[ChainNode],
        edges: Sequence[Edge],
        emitters: Mapping[str, Emit],
        names: Mapping[str, str] | None = None,
        feedback: Collection[str] = (),
    ) -> None:
        """`edges`: (source id, target id, name of the source's output or ''). `emitters`: by id of every target that is not an
        operator of this chain, such as a sink or the topic of an edge. `names`: what operators call a source whose id is another.
        `feedback`: the sources whose rows are messages to a program."""
        operators = {node.id: node for node in nodes if node.operator is not None}
        order = _order(operators, edges)
        self._steps = {id: _made(operators[id]) for id in order}
        self.keyed = {id: step.keyed(id) for id, step in self._steps.items() if step.keyed}
        """The operators with state, by id."""
        self._steps |= {id: _with_state(self._steps[id], keyed) for id, keyed in self.keyed.items()}
        self._bulks = {id: Bulk(id, step.call) for id, step in self._steps.items() if step.shape is Shape.BULK}
        self.programs = {id: step for id, step in self.keyed.items() if isinstance(step, ProgramStep)}
        for id, program in self.programs.items():
            program.read_by(any(source == id and output != LOOP for source, _, output in edges))
        edges, arriving = _arrivals(self.programs, edges, feedback)
        doors = _doors(self._steps, self.keyed, edges, names or {})
        self._writer = _Writer(doors, {**emitters, **arriving}, self._bulks, arriving)
        for id, bulk in self._bulks.items():
            bulk.next = self._writer.downstream(id)
        self._emitted = {id: self._writer.emitted(id) for id in self.keyed if self._steps[id].shape is Shape.KEYED}

    @property
    def has_bulk(self) -> bool:
        return bool(self._bulks)

    @property
    def folds(self) -> bool:
        """Whether it keeps state, and nothing in it is a user's own code, which may take its time."""
        shapes = {step.shape for step in self._steps.values()}
        return Shape.FOLD in shapes and not shapes & {Shape.CALL, Shape.EACH, Shape.BULK, Shape.KEYED}

    def entry(self, source: str) -> Emit:
        """What to call with every row of this source."""
        return self._writer.downstream(source)

    def fire(self, timer: Timer) -> None:
        """What an operator does when its timer is due, and all that follows, bulk steps too: nothing of it waits for a record that may never
        come. Of an operator that is no more, nothing."""
        step = self.keyed.get(timer.operator)
        if step is not None:
            emitted = _attributed(timer.operator, lambda: step.fire(timer))
            self._emitted[timer.operator](emitted, None)
            self.flush()

    def flush(self) -> None:
        """Runs what waits for bulk steps, in the order of the graph, and passes the results on."""
        for bulk in self._bulks.values():
            if bulk.rows:
                bulk.flush()

    def run_programs(self) -> None:
        """With what waits for them, after what waits for bulk steps; and passes on what they emit."""
        self.flush()
        for id, program in self.programs.items():
            emitted = _attributed(id, program.run)
            self._emitted[id](emitted, None)
        self.flush()

    def end_superstep(self, id: str) -> None:
        """Of the operator that goes by them, and all that follows."""
        if id in self.programs:
            self.run_programs()
        self.flush()
        emitted = _attributed(id, self.keyed[id].end_superstep)
        self._emitted[id](emitted, None)
        self.flush()

    def drop(self) -> None:
        """Forgets what waits for bulk steps."""
        for bulk in self._bulks.values():
            bulk.rows, bulk.metadata = [], []

    def open(self, begin: Callable[[str], None] = lambda id: None) -> None:
        """`begin` is told of each before it is opened, since that may take its time, or never end."""
        for id, step in self._steps.items():
            if step.open is not None:
                begin(id)
                _attributed(id, step.open)

    def close(self) -> None:
        """Closes every step, last first; the first error is raised after all were tried."""
        failed: StepFailed | None = None
        for id, step in reversed(self._steps.items()):
            try:
                if step.close is not None:
                    _attributed(id, step.close)
            except StepFailed as error:
                failed = failed or error
        if failed is not None:
            raise failed


def spread(result: Any, metadata: Metadata) -> Iterable[tuple[Row, Metadata]]:
    """What user code returned, as rows with their metadata."""
    if result is None:
        return ()
    if isinstance(result, dict):
        return ((result, metadata),)
    if isinstance(result, Record):
        return ((_row(result.value), result.metadata(metadata)),)
    if isinstance(result, str | bytes) or not isinstance(result, Iterable):
        raise TypeError(
            f"an operator returns a dict, a Record, a list or generator of them, or None, not {_described(result)}"
        )
    return [_one(each, metadata) for each in result]


def _one(result: Any, metadata: Metadata) -> tuple[Row, Metadata]:
    if isinstance(result, Record):
        return _row(result.value), result.metadata(metadata)
    return _row(result), metadata


def _row(value: Any) -> Row:
    if isinstance(value, dict):
        return value
    raise TypeError(f"a row is a dict, not {_described(value)}")


def _described(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"


def _nowhere(row: Row, metadata: Metadata) -> None:
    """For rows that nobody reads."""


def _attributed(id: str, action: Callable[[], Any]) -> Any:
    try:
        return action()
    except Exception as error:
        raise StepFailed(id, error) from error


def _made(node: ChainNode) -> Step:
    assert node.operator is not None
    try:
        return node.operator.step(node.schema)
    except WhorlError:
        raise
    except Exception as error:
        raise StepFailed(node.id, error) from error


def _with_state(step: Step, keyed: KeyedStep) -> Step:
    if isinstance(keyed, ProgramStep):
        return replace(step, open=keyed.open, close=keyed.close)
    if isinstance(keyed, BatchStep):
        return replace(step, shape=Shape.BULK, call=keyed.process_many, open=keyed.open, close=keyed.close)
    if isinstance(keyed, FoldStep):
        return replace(step, shape=Shape.FOLD, call=keyed.fold, open=keyed.open, close=keyed.close)
    return replace(step, call=keyed.process, open=keyed.open, close=keyed.close)


@dataclass(frozen=True, slots=True)
class _Doors:
    """An operator with state and several inputs has a step for each of them, so that it is told which one a record came from."""

    steps: Mapping[str, Step]
    edges: Sequence[Edge]
    """They lead to the doors."""
    owners: Mapping[str, str]
    """Of a door: the operator."""


def _doors(
    steps: Mapping[str, Step],
    keyed: Mapping[str, KeyedStep],
    edges: Sequence[Edge],
    names: Mapping[str, str],
) -> _Doors:
    inner, led, owners = dict(steps), [], {}
    for source, target, output in edges:
        if (
            target not in keyed
            or steps[target].shape is not Shape.KEYED
            or sum(each == target for _, each, _ in edges) == 1
        ):
            led.append((source, target, output))
            continue
        name = names.get(source) or (f"{source}_{output}" if output else source)
        door = f"{target}<{name}"
        inner[door] = replace(
            steps[target], call=partial(keyed[target].process_from, input=name), open=None, close=None
        )
        led.append((source, door, output))
        owners[door] = target
    return _Doors(inner, led, owners)


def _arrivals(
    programs: Mapping[str, ProgramStep], edges: Sequence[Edge], feedback: Collection[str]
) -> tuple[list[Edge], dict[str, Emit]]:
    """Rows that come to a program wait there: its edges end where they do, each at the place for records or for messages."""
    led: list[Edge] = []
    places: dict[str, Emit] = {}
    for source, target, output in edges:
        program = programs.get(target)
        if program is not None:
            target = f"{target}<{'messages' if source in feedback else 'records'}"
            places[target] = _arrival(program, program.take_message if source in feedback else program.take_record)
        led.append((source, target, output))
    return led, places


def _arrival(program: ProgramStep, take: Emit) -> Emit:
    id = program.id

    def arrive(row: Row, metadata: Metadata) -> None:
        try:
            take(row, metadata)
        except Exception as error:
            raise StepFailed(id, error) from error

    return arrive


def _order(operators: Mapping[str, Any], edges: Sequence[Edge]) -> list[str]:
    """Operators so that every edge goes forward; as given among equals."""
    waiting = {id: sum(target == id and source in operators for source, target, _ in edges) for id in operators}
    order: list[str] = []
    while ready := [id for id, count in waiting.items() if count == 0]:
        for id in ready:
            del waiting[id]
            order.append(id)
            for source, target, _ in edges:
                if source == id and target in waiting:
                    waiting[target] -= 1
    if waiting:
        raise ValueError(f"a cycle inside one component: {', '.join(waiting)}")
    return order


@dataclass(frozen=True, slots=True)
class _Names:
    """The locals that hold row and metadata at one place of the generated code."""

    row: str
    metadata: str
    shared: bool = False
    """Whether others see the same row: user code then gets a copy, which it may change."""


def _given(shape: Shape, names: _Names) -> str:
    if shape is Shape.FOLD:
        return f"{names.row}, {names.metadata}"
    if shape not in (Shape.CALL, Shape.EACH, Shape.KEYED):
        return names.row
    row = f"{names.row}.copy()" if names.shared else names.row
    return row if shape is Shape.CALL else f"{row}, {names.metadata}"


class _Writer:
    """Writes the source of the functions. Each is kept, so that a node with several inputs is written once."""

    def __init__(
        self, doors: _Doors, emitters: Mapping[str, Emit], bulks: Mapping[str, Bulk], arriving: Collection[str]
    ) -> None:
        """`arriving`: those of the emitters that are user code."""
        self._copied = {*bulks, *arriving}
        self._steps, self._edges, self._owners = doors.steps, doors.edges, doors.owners
        self._emitters = emitters
        self._bulks = bulks
        self._scope: dict[str, Any] = {"StepFailed": StepFailed, "spread": spread}
        self._names: dict[Any, str] = {}
        self._count = 0

    def downstream(self, source: str) -> Emit:
        """Everything that follows a source or step."""
        function: Emit = self._scope[self._function(self._out(source), source)]
        return function

    def emitted(self, id: str) -> Callable[[list[Emitted], None], None]:
        """What follows all that an operator with state has emitted."""
        function: Callable[[list[Emitted], None], None] = self._scope[self._after_state(id)]
        return function

    def _after_state(self, id: str) -> str:
        key = ("emitted", id)
        if key not in self._names:
            lines = [f"{_INDENT}for output, each, its in row:"]
            lines += self._branches(self._out(id), "output", _Names("each", "its"), 2) or [f"{_INDENT * 2}pass"]
            self._names[key] = self._define(lines)
        return self._names[key]

    def _out(self, id: str) -> list[tuple[str, str]]:
        return [(target, output) for source, target, output in self._edges if source == id]

    def _function(self, targets: list[tuple[str, str]], source: str) -> str:
        """The name of a function of row and metadata that goes to these targets."""
        if not targets:
            return self._name(_nowhere)
        direct = self._callable(targets[0][0]) if len(targets) == 1 else None
        if direct is not None:
            return direct
        key = ("after", source)
        if key not in self._names:
            self._names[key] = self._define(self._fan(targets, _Names("row", "metadata"), 1))
        return self._names[key]

    def _define(self, lines: list[str]) -> str:
        name = self._fresh("run")
        source = "\n".join([f"def {name}(row, metadata):", *lines])
        file = f"{CHAIN_FILE}{next(_FILES)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), self._scope)
        return name

    def _fan(self, targets: list[tuple[str, str]], names: _Names, depth: int) -> list[str]:
        given = names if len(targets) < 2 else replace(names, shared=True)
        return [line for target, _ in targets for line in self._to(target, given, depth)] or [f"{_INDENT * depth}pass"]

    def _to(self, target: str, names: _Names, depth: int) -> list[str]:
        direct = self._callable(target)
        if direct is None and depth > _MAX_DEPTH:
            direct = self._separate(target)
        if direct is None:
            return self._step(target, names, depth)
        row = f"{names.row}.copy()" if names.shared and target in self._copied else names.row
        return [f"{_INDENT * depth}{direct}({row}, {names.metadata})"]

    def _callable(self, target: str) -> str | None:
        """The name to call for a target that is a function of its own; None where it is written inline."""
        if target in self._bulks:
            return self._name(self._bulks[target].push)
        if target not in self._steps:
            return self._name(self._emitters[target])
        several = sum(each == target for _, each, _ in self._edges) > 1
        return self._separate(target) if several else None

    def _separate(self, target: str) -> str:
        key = ("into", target)
        if key not in self._names:
            self._names[key] = self._define(self._step(target, _Names("row", "metadata", shared=True), 1))
        return self._names[key]

    def _step(self, id: str, names: _Names, depth: int) -> list[str]:
        step, id = self._steps[id], self._owners.get(id, id)
        shape, pad, targets = step.shape, _INDENT * depth, self._out(id)
        if shape is Shape.PASS:
            return self._fan(targets, names, depth)
        call, result = self._name(step.call), self._fresh("r")
        lines = self._tried(id, f"{result} = {call}({_given(shape, names)})", depth)
        if shape in (Shape.MAP, Shape.FOLD):
            return lines + self._fan(targets, _Names(result, names.metadata), depth)
        if shape is Shape.FILTER:
            return [*lines, f"{pad}if {result}:", *self._fan(targets, names, depth + 1)]
        if shape is Shape.KEY:
            keyed = f"{pad}{result} = {names.metadata}.with_key({result})"
            return [*lines, keyed, *self._fan(targets, replace(names, metadata=result), depth)]
        if shape is Shape.KEYED:
            return [*lines, f"{pad}if {result}:", f"{pad}    {self._after_state(id)}({result}, None)"]
        if shape is Shape.BRANCH:
            return lines + self._branches(targets, result, names, depth)
        return lines + self._results(id, result, names.metadata, depth)

    def _tried(self, id: str, statement: str, depth: int) -> list[str]:
        pad = _INDENT * depth
        return [
            f"{pad}try:",
            f"{pad}    {statement}",
            f"{pad}except Exception as error:",
            f"{pad}    raise StepFailed({id!r}, error) from error",
        ]

    def _branches(self, targets: list[tuple[str, str]], result: str, names: _Names, depth: int) -> list[str]:
        pad, lines = _INDENT * depth, []
        for output in dict.fromkeys(output for _, output in targets):
            those = [each for each in targets if each[1] == output]
            lines += [f"{pad}if {result} == {output!r}:", *self._fan(those, names, depth + 1)]
        return lines

    def _results(self, id: str, result: str, metadata: str, depth: int) -> list[str]:
        """Of a step that may give any number of rows: one dict is the common case and goes on at once."""
        pad, after, pairs = _INDENT * depth, self._function(self._out(id), id), self._fresh("r")
        several = [
            *self._tried(id, f"{pairs} = spread({result}, {metadata})", depth + 1),
            f"{pad}    for {result}, {pairs} in {pairs}:",
            f"{pad}        {after}({result}, {pairs})",
        ]
        if self._steps[id].shape is Shape.FLAT_MAP:
            return [f"{pad}if {result}:", *several]
        return [
            f"{pad}if {result}.__class__ is dict:",
            f"{pad}    {after}({result}, {metadata})",
            f"{pad}elif {result} is not None:",
            *several,
        ]

    def _name(self, thing: Any) -> str:
        # A bound method is a new object each time it is asked for, and equal to its like.
        if thing not in self._names:
            self._names[thing] = self._fresh("f")
            self._scope[self._names[thing]] = thing
        return self._names[thing]

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"


__all__ = ["Chain", "ChainNode", "Emit", "StepFailed", "spread", "user_place"]
