"""The tree of an expression to the source of a Python function, and the function."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlglot import exp

import whorl.operators.expressions.collections as collections
import whorl.operators.expressions.logic as logic
import whorl.operators.expressions.numbers as numbers
import whorl.operators.expressions.text as text
import whorl.operators.expressions.times as times
import whorl.operators.expressions.types as types
from whorl.operators.expressions.arithmetic import arithmetic, negate
from whorl.operators.expressions.casts import cast
from whorl.operators.expressions.columns import Columns, Path, public_type
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.registry import FUNCTIONS, REPLAY
from whorl.operators.expressions.types import UNKNOWN
from whorl.operators.expressions.value import NULL, Emitter, Value, null
from whorl.schema import Schema

FAMILIES = (collections, numbers, text, times)
"""Modules that fill the table of functions."""

_BARE_CLOCKS = {"current_timestamp", "current_date", "current_time", "localtimestamp"}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div"}
_COMPARISON = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_TYPES = {
    "BOOLEAN": "boolean", "INT": "int", "BIGINT": "long", "FLOAT": "float", "DOUBLE": "double", "TEXT": "string",
    "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamp", "TIMESTAMPLTZ": "timestamp",
    "BINARY": "binary",
}  # fmt: skip


@dataclass
class Program:
    """One compilation: of this tree, for rows of this schema and these types of open columns."""

    schema: Schema | None
    observed: Mapping[Path, str] = field(default_factory=dict)
    emitter: Emitter = field(default_factory=Emitter)

    def __post_init__(self) -> None:
        self.columns = Columns(self.schema, self.observed)

    def function(self, code: str) -> Callable[[dict[str, Any]], Any]:
        """Of a row, that returns what this code gives."""
        return self.define(f"{self.columns.prologue()}    return {code}\n")

    def define(self, body: str) -> Callable[[dict[str, Any]], Any]:
        scope = dict(self.emitter.pool)
        try:
            exec(compile(f"def expression(row):\n{body}", "<expression>", "exec"), scope)
        except (SyntaxError, RecursionError, MemoryError):
            raise ExpressionError(
                "it is nested too deep", code="unsupported", hint="split it over two operators"
            ) from None
        function: Callable[[dict[str, Any]], Any] = scope["expression"]
        return function

    def value(self, node: Any) -> Value:
        kind = type(node)
        if kind in _ARITHMETIC:
            return arithmetic(self.emitter, _ARITHMETIC[kind], *self.operands(node))
        if kind in _COMPARISON:
            return logic.compare(self.emitter, _COMPARISON[kind], *self.operands(node))
        rule = _RULES.get(kind)
        if rule is None:
            raise ExpressionError(f"'{node.sql('spark')}' is not part of the SQL subset", code="unsupported")
        return rule(self, node)

    def refuse_clock(self, column: Any) -> None:
        """A bare current_timestamp parses as a column."""
        name, quoted = str(column.this.this), column.this.args.get("quoted")
        known = self.schema is not None and name in self.schema
        if len(column.parts) == 1 and name.lower() in _BARE_CLOCKS and not quoted and not known:
            raise _changes_on_replay(name)

    def values(self, nodes: Sequence[Any]) -> list[Value]:
        return [self.value(node) for node in nodes]

    def operands(self, node: Any) -> tuple[Value, Value]:
        return self.value(node.this), self.value(node.expression)


def _literal(program: Program, node: Any) -> Value:
    return program.emitter.literal(node.this, "string") if node.is_string else _number(program, node.this)


def _number(program: Program, digits: str) -> Value:
    if "e" in digits.lower():
        return program.emitter.literal(float(digits), "double")
    if "." not in digits:
        number = int(digits)
        for kind in types.INTEGRAL:
            if -types.LIMITS[kind] - 1 <= number <= types.LIMITS[kind]:
                return program.emitter.literal(number, kind)
    elif program.observed:
        # Columns of undeclared type hold doubles, not decimals, so 1.5 beside them is one too.
        return program.emitter.literal(float(digits), "double")
    number_value = Decimal(digits)
    scale = max(0, -int(number_value.as_tuple().exponent))
    precision = max(len(number_value.as_tuple().digits), scale, 1)
    return program.emitter.literal(number_value, types.decimal_type(precision, scale))


def _negative(program: Program, node: Any) -> Value:
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return _number(program, f"-{inner.this}")
    return negate(program.emitter, program.value(inner))


def _column(program: Program, node: Any) -> Value:
    return _path(program, node, [])


def _part(program: Program, node: Any) -> Value:
    """`x.field` and `x[key]`: of a column if the whole chain is constant, else of any value."""
    base = node
    steps: list[Any] = []
    while isinstance(base, exp.Dot | exp.Bracket):
        steps.insert(0, _step(base))
        base = base.this
    if isinstance(base, exp.Column) and not any(isinstance(step, exp.Expression) for step in steps):
        return _path(program, base, steps)
    value = program.value(node.this)
    step = _step(node)
    key = program.value(step) if isinstance(step, exp.Expression) else _key(program, step)
    return collections.access(program.emitter, value, key)


def _step(node: Any) -> Any:
    """A constant field name or index, or the node of a key that must be computed."""
    if isinstance(node, exp.Dot):
        if not isinstance(node.expression, exp.Identifier):
            raise ExpressionError(f"'{node.sql('spark')}' is not part of the SQL subset", code="unsupported")
        return str(node.expression.this)
    if len(node.expressions) != 1:
        raise ExpressionError(f"'{node.sql('spark')}' is not part of the SQL subset", code="unsupported")
    key = node.expressions[0]
    if not isinstance(key, exp.Literal):
        return key
    return str(key.this) if key.is_string else int(key.this) if key.this.isdigit() else key


def _key(program: Program, step: str | int) -> Value:
    return program.emitter.literal(step, "string" if isinstance(step, str) else "int")


def _path(program: Program, column: Any, steps: list[str | int]) -> Value:
    names = [str(part.this) for part in column.parts]
    if isinstance(column.this, exp.Star):
        raise ExpressionError("'*' is not part of the SQL subset", code="unsupported")
    program.refuse_clock(column)
    value, path = program.columns.column(names[0]), (*names[1:], *steps)
    if value.type == UNKNOWN:
        return program.columns.open_path(program.emitter, value, (program.columns.find(names[0]), *path))
    for step in path:
        value = collections.access(program.emitter, value, _key(program, step))
    return value


def _changes_on_replay(name: str) -> ExpressionError:
    return ExpressionError(
        f"'{name}' gives another value when a record is processed again",
        code="replay",
        hint="use a column of the record",
    )


def _call(program: Program, node: Any) -> Value:
    name = str(node.this).lower()
    if name == "struct":
        return _struct(program, node)
    function = FUNCTIONS.get(name)
    if name in REPLAY and (function is None or not node.expressions):
        raise _changes_on_replay(f"{name}()")
    if function is None:
        near = difflib.get_close_matches(name, FUNCTIONS, 1)
        hint = f"did you mean '{near[0]}'?" if near else ""
        raise ExpressionError(f"there is no function '{name}' in the SQL subset", code="unsupported", hint=hint)
    count = len(node.expressions)
    if count < function.least or (function.most is not None and count > function.most):
        raise ExpressionError(
            f"'{name}' does not take {count} arguments", code="unsupported", hint=f"it is {function.signature}"
        )
    return function.build(program.emitter, program.values(node.expressions))


def _struct(program: Program, node: Any) -> Value:
    fields = []
    for index, part in enumerate(node.expressions):
        inner = part.this if isinstance(part, exp.Alias) else part
        named = (
            part.alias if isinstance(part, exp.Alias) else inner.name if isinstance(inner, exp.Column | exp.Dot) else ""
        )
        fields.append((named or f"col{index + 1}", program.value(inner)))
    return collections.struct(program.emitter, fields)


def _flat(node: Any, kind: type) -> Iterator[Any]:
    """The operands of a chain of one operator."""
    if isinstance(node, kind):
        yield from _flat(node.this, kind)  # type: ignore[attr-defined]
        yield from _flat(node.expression, kind)  # type: ignore[attr-defined]
    else:
        yield node


def _pipes(program: Program, node: Any) -> Value:
    parts = list(_flat(node, exp.DPipe))
    if any(isinstance(part, exp.Add | exp.Sub) for part in parts[1:]):
        raise ExpressionError(
            "'||' beside '+' or '-' is read in different ways", code="unsupported", hint="put parentheses"
        )
    return text.concat(program.emitter, program.values(parts))


def _is(program: Program, node: Any) -> Value:
    value = program.value(node.this)
    if isinstance(node.expression, exp.Null):
        return logic.is_null(program.emitter, value)
    if isinstance(node.expression, exp.Boolean):
        return logic.is_truth(program.emitter, value, node.expression.this)
    raise ExpressionError(f"'{node.sql('spark')}' is not part of the SQL subset", code="unsupported")


def _in(program: Program, node: Any) -> Value:
    if not node.expressions:
        raise ExpressionError("IN takes a list of values here", code="unsupported")
    return logic.member(program.emitter, program.value(node.this), program.values(node.expressions))


def _between(program: Program, node: Any) -> Value:
    emitter = program.emitter
    if node.args.get("symmetric"):
        raise ExpressionError("BETWEEN SYMMETRIC is not part of the SQL subset", code="unsupported")
    value = program.value(node.this)
    code, bound = emitter.bind(value)
    low = logic.compare(emitter, ">=", bound, program.value(node.args["low"]))
    high = logic.compare(emitter, "<=", bound, program.value(node.args["high"]))
    both = logic.conjunction(emitter, [low, high])
    return both if bound is value else Value(f"(None if {code} is None else {both.code})", "boolean")


def _like(program: Program, node: Any) -> Value:
    return _like_escaped(program, node, "\\")


def _escape(program: Program, node: Any) -> Value:
    return _like_escaped(program, node.this, str(node.expression.this))


def _like_escaped(program: Program, node: Any, escape: str) -> Value:
    ignore_case = isinstance(node, exp.ILike)
    matched = text.like(program.emitter, *program.operands(node), escape=escape, ignore_case=ignore_case)
    return logic.negation(program.emitter, matched) if node.args.get("negate") else matched


def _case(program: Program, node: Any) -> Value:
    default = program.value(node.args["default"]) if node.args.get("default") else NULL
    subject = program.value(node.this) if node.this else None
    if subject is None:
        return logic.choose(program.emitter, [_when(program, each) for each in node.args["ifs"]], default)
    code, bound = program.emitter.bind(subject)
    branches = []
    for each in node.args["ifs"]:
        equal = logic.compare(program.emitter, "=", bound, program.value(each.this))
        branches.append((equal, program.value(each.args["true"])))
    chosen = logic.choose(program.emitter, branches, default)
    # The subject is computed once, before the first branch.
    otherwise = cast(program.emitter, default, chosen.type)
    return (
        chosen if subject.simple else Value(f"({chosen.code} if {code} is not None else {otherwise.code})", chosen.type)
    )


def _when(program: Program, node: Any) -> tuple[Value, Value]:
    return program.value(node.this), program.value(node.args["true"])


def _if(program: Program, node: Any) -> Value:
    otherwise = program.value(node.args["false"]) if node.args.get("false") else NULL
    return logic.choose(program.emitter, [_when(program, node)], otherwise)


def _cast(program: Program, node: Any) -> Value:
    safe = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
    return cast(program.emitter, program.value(node.this), _type(node.args["to"]), safe=safe)


def _type(node: Any) -> str:
    name = node.this.value if hasattr(node.this, "value") else str(node.this)
    if name == "DECIMAL":
        sizes = [int(str(each.this)) for each in node.expressions]
        return types.decimal_type(sizes[0] if sizes else 10, sizes[1] if len(sizes) > 1 else 0)
    if name not in _TYPES:
        raise ExpressionError(
            f"a cast to {node.sql('spark').lower()} is not part of the SQL subset", code="unsupported"
        )
    return _TYPES[name]


_RULES: dict[type, Callable[[Program, Any], Value]] = {
    exp.Literal: _literal,
    exp.RawString: lambda program, node: program.emitter.literal(node.this, "string"),
    exp.Boolean: lambda program, node: program.emitter.literal(node.this, "boolean"),
    exp.Null: lambda program, node: null(types.VOID),
    exp.Paren: lambda program, node: program.value(node.this),
    exp.Neg: _negative,
    exp.Column: _column,
    exp.Dot: _part,
    exp.Bracket: _part,
    exp.Anonymous: _call,
    exp.And: lambda program, node: logic.conjunction(program.emitter, program.values(list(_flat(node, exp.And)))),
    exp.Or: lambda program, node: logic.disjunction(program.emitter, program.values(list(_flat(node, exp.Or)))),
    exp.Not: lambda program, node: logic.negation(program.emitter, program.value(node.this)),
    exp.NullSafeNEQ: lambda program, node: logic.negation(
        program.emitter, logic.compare(program.emitter, "<=>", *program.operands(node))
    ),
    exp.DPipe: _pipes,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: lambda program, node: text.rlike(program.emitter, *program.operands(node)),
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
}


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression ready to run."""

    sql: str
    function: Callable[[dict[str, Any]], Any]
    columns: frozenset[str]
    """Those it refers to."""
    type: str
    """Of the result; UNKNOWN where it depends on columns of undeclared type."""


def result_type(value: Value) -> str:
    return public_type(value.type)
