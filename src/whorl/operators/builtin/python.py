"""The python operator: a function or class of the user's, called for each record or for each bulk."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from whorl.errors import PipelineError
from whorl.operators.keyed import KeyedOperator
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.keys import key_reader
from whorl.operators.loading import load
from whorl.operators.native import Call, Native
from whorl.operators.operator import Fault, OperatorType, Options, Shape, Step
from whorl.schema import Schema, normal_type

_METADATA_NAMES = ("metadata", "meta")


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
    key: tuple[str, ...] = Field(
        (), description="of a KeyedOperator: the column, or the columns, by which its state is kept"
    )
    outputs: tuple[str, ...] = Field(
        (), description="of a KeyedOperator: names of its outputs, where it has several; `from: id.name` reads one"
    )
    returns: dict[str, str] | None = Field(
        None, description="columns and types of the rows it gives; left out: not known"
    )

    @field_validator("key", mode="before")
    @classmethod
    def _columns(cls, key: Any) -> Any:
        return (key,) if isinstance(key, str) else key

    @field_validator("returns")
    @classmethod
    def _types(cls, returns: dict[str, str] | None) -> dict[str, str] | None:
        return {name: normal_type(kind) for name, kind in returns.items()} if returns else returns

    @model_validator(mode="after")
    def _one_of_both(self) -> PythonOptions:
        if (self.function is None) == (self.class_ is None):
            raise ValueError("give either 'function' or 'class'")
        if self.key and self.class_ is None:
            raise ValueError("'key' is for a class that is a KeyedOperator")
        if self.outputs and not self.key:
            raise ValueError("'outputs' is for a KeyedOperator, which has a 'key'")
        return self


class Python(OperatorType):
    type = "python"
    changes_key = True
    summary = (
        "Calls Python code. A dict is one row, None drops the record, a list or generator is several rows, a Record sets key, "
        "headers or timestamp too. A class may have open() and close()."
    )
    Options = PythonOptions

    def step(self, schema: Schema | None) -> Step:
        target = load(self.path)
        if self.options.class_ is None:
            function = partial(target, **self.options.args) if self.options.args else target
            return Step(*self._shaped(function, _takes_metadata(target, self.options.args)))
        if self.options.key:
            return Step(Shape.KEYED, target, keyed=lambda id: self._with_state(target, id, schema))
        worker = target(**self.options.args)
        process = getattr(worker, "process", None)
        if not callable(process):
            raise PipelineError(
                f"class '{self.path}' has no method 'process'", code="import", hint="add process(self, row)"
            )
        shape, call = self._shaped(process, _takes_metadata(process, {}))
        return Step(shape, call, getattr(worker, "open", None), getattr(worker, "close", None))

    def _with_state(self, target: Any, id: str, schema: Schema | None) -> KeyedStep:
        operator = target(**self.options.args)
        return KeyedStep(operator, id, key_reader(self.options.key, schema), self.options.outputs)

    def keyed_by(self) -> tuple[str, ...] | None:
        return tuple(self.options.key) or None

    def outputs(self) -> tuple[str, ...]:
        return tuple(self.options.outputs)

    def faults(self) -> Iterable[Fault]:
        """Whether the class keeps state, and says by what."""
        try:
            target = load(self.path)
        except Exception:  # found, and told, where imports are looked at
            return
        keeps = isinstance(target, type) and issubclass(target, KeyedOperator)
        if keeps and not self.options.key:
            hint = "add `key: column`: all rows with the same value there share their state"
            yield Fault(("class",), "key", f"'{self.path}' is a KeyedOperator, and there is no 'key'", hint)
        elif self.options.key and not keeps:
            yield Fault(("key",), "key", f"'{self.path}' is no KeyedOperator", "derive it from whorl.KeyedOperator")

    @property
    def path(self) -> str:
        return self.options.function or self.options.class_ or ""

    def native(self, schema: Schema | None) -> Native | None:
        return Call() if self.options.returns and not self.options.key else None

    def output(self, schema: Schema | None) -> Schema | None:
        return Schema.of(self.options.returns) if self.options.returns else None

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [
            (("key", index) if len(self.options.key) > 1 else ("key",), name)
            for index, name in enumerate(self.options.key)
        ]

    def import_paths(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("class" if self.options.class_ else "function",), self.path)]

    def _shaped(self, call: Callable[..., Any], with_metadata: bool) -> tuple[Shape, Callable[..., Any]]:
        if self.options.per == "bulk":
            return Shape.BULK, call if with_metadata else lambda rows, metadata: call(rows)
        return (Shape.EACH if with_metadata else Shape.CALL), call


def _takes_metadata(function: Callable[..., Any], given: dict[str, Any]) -> bool:
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
