"""The reduce operator: a value for each key, which an SQL expression makes from the one before and the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import Field

from whorl.operators.builtin.by_key import Pairs, Reading, ResultByKey, ResultOptions
from whorl.operators.builtin.simple import Scalar
from whorl.operators.expressions import Compiled, ExpressionError, compile_expression
from whorl.operators.expressions.casts import conversion
from whorl.operators.expressions.columns import observed_type
from whorl.operators.fold import Fold
from whorl.operators.keyed import KeyedOperator
from whorl.operators.operator import Fault
from whorl.operators.record import Row
from whorl.schema import UNKNOWN, Schema
from whorl.state.states import ValueState

ACC = "acc"
_ROUNDS = 40
"""After so many the type of a sum of decimals has all the digits that there can be."""


class Reduction(Reading, Fold):
    acc: ValueState[Any] = ValueState(object)
    kept = "acc"

    def __init__(self, read: Callable[[Row], Any], shaped: Callable[..., Row], init: Any) -> None:
        super().__init__(read, shaped)
        self._init = init

    def fold(self, before: Any, record: Row) -> tuple[Any, Row]:
        after = self._read({**record, ACC: self._init if before is None else before})
        return after, self._shaped(record, after)


class ReduceOptions(ResultOptions):
    init: Scalar | None = Field(None, description=f"what `{ACC}` is for the first record of a key, and after null")
    with_: str = Field(
        alias="with",
        description=f"SQL expression over the row's columns and `{ACC}`, the value before; gives the value after",
    )


class Reduce(ResultByKey):
    type = "reduce"
    summary = f"A running value for each key, which an SQL expression makes from the one before (`{ACC}`) and the record: a row for each record."
    Options = ReduceOptions

    def keyed(self, schema: Schema | None) -> KeyedOperator:
        compiled = self._compiled(schema)
        return Reduction(compiled.function, self.shaped(schema), self._first(compiled.type))

    def results(self, schema: Schema | None) -> Pairs:
        try:
            kind = self._compiled(schema).type
        except ExpressionError:
            kind = UNKNOWN
        return self.result(schema, kind)

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if any(name.lower() == ACC for name in (self.entering.names if self.entering else ())):
            yield Fault(("with",), "column", f"the rows have a column '{ACC}' of their own", "rename it first")
            return
        try:
            self._first(self._compiled(self.entering).type)
        except ExpressionError as error:
            yield Fault(("with",), error.code, error.message, error.hint or "mend the expression")

    def _compiled(self, schema: Schema | None) -> Compiled:
        """For the type that the expression itself gives: a sum of doubles that begins with 0 is a double."""
        kind = UNKNOWN if self.options.init is None else observed_type(self.options.init)
        for _ in range(_ROUNDS):
            compiled = compile_expression(self.options.with_, _beside(schema, kind))
            if schema is None or compiled.type == kind:
                return compiled
            kind = compiled.type
        raise ExpressionError(f"'{self.options.with_}' gives another type each time", code="type", hint="cast it")

    def _first(self, kind: str) -> Any:
        """The accumulator that a key begins with, in the type that it has later."""
        init = self.options.init
        if init is None or kind == UNKNOWN:
            return init
        convert = conversion(observed_type(init), kind)
        try:
            if convert is not None:
                return convert(init)
        except (ValueError, OverflowError):
            pass
        message = f"it begins with {init!r}, but '{self.options.with_}' gives a {kind}"
        raise ExpressionError(message, code="type", hint="give `init` that type")


def _beside(schema: Schema | None, kind: str) -> Schema | None:
    return Schema((*schema, (ACC, kind))) if schema else None
