"""The validate operator: rules that every row must keep."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from whorl.operators.builtin.expression import condition
from whorl.operators.native import Native, Rules
from whorl.operators.operator import OperatorType, Options, Shape, Step
from whorl.operators.record import Row
from whorl.schema import Schema


class ValidateOptions(Options):
    rules: dict[str, str] = Field(min_length=1, description="name of the rule to the SQL condition that must be true")


class Validate(OperatorType):
    type = "validate"
    summary = "Passes rows that keep every rule; a row for which one is not true fails, and goes the way of `on_error`."
    Options = ValidateOptions

    def step(self, schema: Schema | None) -> Step:
        rules = [(condition(sql, schema), Rules.broken(name, sql)) for name, sql in self.options.rules.items()]

        def check(row: Row) -> Row:
            for holds, broken in rules:
                if holds(row) is not True:
                    raise ValueError(broken)
            return row

        return Step(Shape.MAP, check)

    def native(self, schema: Schema | None) -> Native | None:
        return Rules(tuple(self.options.rules.items()))

    def expressions(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("rules", name), sql) for name, sql in self.options.rules.items()]
