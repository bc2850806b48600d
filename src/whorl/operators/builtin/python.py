"""The python operator: a function or class of the user's, called for each record or for each bulk."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from whorl.errors import PipelineError
from whorl.operators.batch_step import BatchStep
from whorl.operators.bounded_step import BoundedStep
from whorl.operators.builtin.by_key import Evict, MaxBytes, MaxKeys, limits_of, not_with_limits, paths
from whorl.operators.keyed import BatchOperator, KeyedOperator, migrates
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.keys import key_reader
from whorl.operators.loading import load
from whorl.operators.native import Call, Keyed, Native
from whorl.operators.operator import Columns, Fault, OperatorType, Options, Shape, Step, Upstream, not_with_state
from whorl.operators.program import PartitionProgram
from whorl.operators.program_step import ProgramStep
from whorl.schema import Schema, normal_type
from whorl.state.binding import table_names
from whorl.state.states import Lifetime, TtlTime
from whorl.units import Duration

_METADATA_NAMES = ("metadata", "meta")
_WITH_STATE = ("key", "outputs", "ttl", "max_keys", "max_bytes")
"""Options of a KeyedOperator alone."""


class PythonOptions(Options):
    function: str | None = Field(
        None, description="import path of a function `f(row)` or `f(row, metadata)`: module.name"
    )
    class_: str | None = Field(
        None, alias="class", description="import path of a class with `process(row)` or `process(row, metadata)`"
    )
    per: Literal["record", "bulk"] = Field(
        "record",
        description="called for each record, or with lists of rows (and metadata), giving a list of one result each",
    )
    args: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments: for the function at each call, for the class once"
    )
    key: Columns = Field(
        (),
        description="of a KeyedOperator: the column, or the columns, by which its state is kept; left out: the record's own key",
    )
    outputs: tuple[str, ...] = Field(
        (), description="of a KeyedOperator: names of its outputs, where it has several; `from: id.name` reads one"
    )
    ttl: Duration | None = Field(
        None, gt=0, description="of a KeyedOperator: how long those of its states last that do not say so themselves"
    )
    ttl_time: TtlTime = Field("processing", description="whether `ttl` is of processing time or of event time")
    max_keys: MaxKeys = None
    max_bytes: MaxBytes = None
    evict: Evict = "oldest"
    returns: dict[str, str] | None = Field(
        None, description="columns and types of the rows it gives; left out: not known"
    )

    @field_validator("returns")
    @classmethod
    def _types(cls, returns: dict[str, str] | None) -> dict[str, str] | None:
        return {name: normal_type(kind) for name, kind in returns.items()} if returns else returns

    @model_validator(mode="after")
    def _one_of_both(self) -> PythonOptions:
        if (self.function is None) == (self.class_ is None):
            raise ValueError("give either 'function' or 'class'")
        for name in self.with_state if self.class_ is None else ():
            raise ValueError(f"'{name}' is for a class that is a KeyedOperator")
        return self

    @property
    def with_state(self) -> list[str]:
        """Those of its options that only a KeyedOperator has."""
        return [name for name in _WITH_STATE if getattr(self, name)]


class Python(OperatorType):
    type = "python"
    changes_key = True
    summary = (
        "Calls Python code. A dict is one row, None drops the record, a list or generator is several rows, a Record sets key, "
        "headers or timestamp too. A class may have open() and close()."
    )
    Options = PythonOptions
    _keeps_state: bool | None = None
    _states: tuple[str, ...] = ()

    def __init__(self, options: PythonOptions) -> None:
        super().__init__(options)
        self.loops = self.anywhere = bool(self._is_keyed()) and issubclass(load(self.path), PartitionProgram)

    def reading(self, upstreams: Sequence[Upstream]) -> Self:
        """Here user code is at hand; the planner, which asks for the key, does not have it."""
        placed = super().reading(upstreams)
        placed._keeps_state = self._is_keyed()
        if placed._keeps_state:
            target = load(self.path)
            placed.version, placed.migrates = target.version, migrates(target)
            placed._states = table_names(target)
        return placed

    def step(self, schema: Schema | None) -> Step:
        target = load(self.path)
        if self.options.class_ is None:
            function = partial(target, **self.options.args) if self.options.args else target
            return Step(*self._shaped(function, takes_metadata(target, self.options.args)))
        if _keeps(target):
            return Step(Shape.KEYED, target, keyed=lambda id: self._with_state(target, id, schema))
        worker = target(**self.options.args)
        process = getattr(worker, "process", None)
        if not callable(process):
            raise PipelineError(
                f"class '{self.path}' has no method 'process'", code="import", hint="add process(self, row)"
            )
        shape, call = self._shaped(process, takes_metadata(process, {}))
        return Step(shape, call, getattr(worker, "open", None), getattr(worker, "close", None))

    def _with_state(self, target: Any, id: str, schema: Schema | None) -> KeyedStep:
        options, operator = self.options, target(**self.options.args)
        lifetime = Lifetime(ttl=options.ttl, ttl_time=options.ttl_time)
        tables = [upstream.table for upstream in self.upstreams if upstream.is_table]
        rest, limits = (options.outputs, lifetime, tables), limits_of(options)
        if limits:
            return BoundedStep(operator, id, key_reader(options.key, schema), limits, *rest)
        return kind_of(operator)(operator, id, key_reader(options.key, schema), *rest)

    def keyed_by(self) -> tuple[str, ...] | None:
        return tuple(self.options.key) if self._keeps_state or self.options.key else None

    def states(self, schema: Schema | None) -> tuple[str, ...]:
        return self._states

    def outputs(self) -> tuple[str, ...]:
        return tuple(self.options.outputs)

    def faults(self) -> Iterable[Fault]:
        """Options of state on a class that keeps none; one that does not load is told where imports are looked at."""
        wrong = self.options.with_state
        if wrong and self._is_keyed() is False:
            message = f"'{wrong[0]}' is for a KeyedOperator, which '{self.path}' is not"
            yield Fault((wrong[0],), "type", message, "derive it from whorl.KeyedOperator")
        limited = [name for name in ("max_keys", "max_bytes") if getattr(self.options, name) is not None]
        kinds = (BatchOperator, PartitionProgram)
        if limited and self._is_keyed() and issubclass(load(self.path), kinds):
            kind = next(each.__name__ for each in kinds if issubclass(load(self.path), each))
            message = f"'{limited[0]}' is not for a {kind}, which '{self.path}' is"
            yield Fault((limited[0],), "type", message, "derive it from whorl.KeyedOperator, or take it away")

    def _is_keyed(self) -> bool | None:
        """None: it does not load."""
        try:
            return _keeps(load(self.path))
        except Exception:
            return None

    @property
    def path(self) -> str:
        return self.options.function or self.options.class_ or ""

    def native(self, schema: Schema | None) -> Native | None:
        options, key = self.options, self.keyed_by()
        if not options.returns or self.not_in_query():
            return None
        return Call() if key is None else Keyed(key, options.outputs)

    def not_in_query(self) -> tuple[str, str] | None:
        return None if self.keyed_by() is None else not_with_limits(self.options) or not_with_state(self.upstreams)

    def output(self, schema: Schema | None) -> Schema | None:
        return Schema.of(self.options.returns) if self.options.returns else None

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return paths("key", self.options.key)

    def import_paths(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("class" if self.options.class_ else "function",), self.path)]

    def _shaped(self, call: Callable[..., Any], with_metadata: bool) -> tuple[Shape, Callable[..., Any]]:
        if self.options.per == "bulk":
            return Shape.BULK, call if with_metadata else lambda rows, metadata: call(rows)
        return (Shape.EACH if with_metadata else Shape.CALL), call


def _keeps(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, KeyedOperator)


def kind_of(operator: KeyedOperator) -> type[KeyedStep]:
    """What a host runs of it."""
    if isinstance(operator, PartitionProgram):
        return ProgramStep
    return BatchStep if isinstance(operator, BatchOperator) else KeyedStep


def takes_metadata(function: Callable[..., Any], given: dict[str, Any]) -> bool:
    """Whether a second positional argument is wanted: one without a default, or one that is called metadata."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [
        each for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.name not in given
    ]  # fmt: skip
    return len(positional) > 1 and (
        positional[1].default is inspect.Parameter.empty or positional[1].name in _METADATA_NAMES
    )
