"""The branch operator: several outputs, and a condition for each."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field, field_validator

from whorl.operators.builtin.expression import condition
from whorl.operators.expressions import compile_expression
from whorl.operators.native import Native, Route
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.sqltext import text
from whorl.schema import Schema


class BranchOutput(Options):
    name: str = Field(min_length=1, description="name of the output; `from: id.name` reads it")
    where: str = Field(description="SQL condition")


class BranchOptions(Options):
    outputs: tuple[BranchOutput, ...] = Field(
        min_length=1, description="tried in this order; the first that is true takes the row"
    )
    default: str | None = Field(None, description="output of rows that none takes; left out: they are dropped")

    @field_validator("outputs")
    @classmethod
    def _distinct(cls, outputs: tuple[BranchOutput, ...]) -> tuple[BranchOutput, ...]:
        if len({output.name for output in outputs}) < len(outputs):
            raise ValueError("two outputs have the same name")
        return outputs


class Branch(OperatorType):
    type = "branch"
    summary = "Sends each row to the first output whose condition is true."
    Options = BranchOptions

    def step(self, schema: Schema | None) -> Step:
        for output in self.options.outputs:
            condition(output.where, schema)
        return Step(Shape.BRANCH, compile_expression(self._choice(), schema).function)

    def native(self, schema: Schema | None) -> Native | None:
        return Route(self._choice())

    def outputs(self) -> tuple[str, ...]:
        names = [output.name for output in self.options.outputs]
        return tuple(dict.fromkeys([*names, self.options.default] if self.options.default else names))

    def expressions(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("outputs", index, "where"), output.where) for index, output in enumerate(self.options.outputs)]

    def _choice(self) -> str:
        """All conditions in one expression. A line break ends a comment that a condition may have."""
        cases = "".join(f" WHEN ({output.where}\n) THEN {text(output.name)}" for output in self.options.outputs)
        return f"CASE{cases} ELSE {text(self.options.default) if self.options.default else 'NULL'} END"
