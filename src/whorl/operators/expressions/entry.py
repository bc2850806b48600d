"""From text and schema to compiled functions; open columns are settled by the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from sqlglot import exp

from whorl.operators.expressions.columns import SIMPLE_TYPES, Path, observed_type
from whorl.operators.expressions.compiler import Compiled, Program, result_type
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.parse import parse
from whorl.operators.expressions.value import Value
from whorl.schema import Schema

Function = Callable[[dict[str, Any]], Any]
Finish = Callable[[list[str]], str]
"""From the codes of all results to the code of what the function returns."""


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """Several expressions of one row, as one function that gives the new row."""

    function: Function
    columns: frozenset[str]
    types: Mapping[str, str]


@lru_cache(1024)
def compile_expression(sql: str, schema: Schema | None) -> Compiled:
    """Raises ExpressionError. `schema` None: the columns are not known, so any name is one."""
    program, (value,), function = _compile([sql], schema, "".join)
    return Compiled(sql, function, frozenset(program.columns.loads), result_type(value))


def compile_row(columns: Mapping[str, str], schema: Schema | None, *, keep: bool) -> CompiledRow:
    """A function from row to new row: the given columns, and with `keep` the others as they were."""

    def finish(codes: list[str]) -> str:
        items = [f"{name!r}: {code}" for name, code in zip(columns, codes, strict=True)]
        return f"{{{', '.join(['**row', *items] if keep else items)}}}"

    program, values, function = _compile(list(columns.values()), schema, finish)
    kinds = {name: result_type(value) for name, value in zip(columns, values, strict=True)}
    return CompiledRow(function, frozenset(program.columns.loads), kinds)


def _compile(sqls: Sequence[str], schema: Schema | None, finish: Finish) -> tuple[Program, list[Value], Function]:
    program = Program(schema)
    trees = [parse(sql) for sql in sqls]
    values = [_located(sql, partial(_value, program, tree)) for sql, tree in zip(sqls, trees, strict=True)]
    make = _settling if program.columns.open else _settled
    function = _located(", ".join(sqls), partial(make, program, trees, values, finish))
    return program, values, function


def _located(sql: str, action: Callable[[], Any]) -> Any:
    try:
        return action()
    except ExpressionError as error:
        raise ExpressionError(f"{error.message} in '{sql}'", hint=error.hint, code=error.code) from None
    except RecursionError:
        raise ExpressionError(
            f"'{sql}' is nested too deep", code="unsupported", hint="split it over two operators"
        ) from None


def _value(program: Program, tree: Any) -> Value:
    # A column alone is handed on whatever its type, so its type need not be settled.
    if isinstance(tree, exp.Column) and len(tree.parts) == 1 and isinstance(tree.this, exp.Identifier):
        program.refuse_clock(tree)
        return program.columns.column(str(tree.this.this))
    return program.value(tree)


def _settled(program: Program, trees: Sequence[Any], values: Sequence[Value], finish: Finish) -> Function:
    return program.function(finish([value.code for value in values]))


def _settling(program: Program, trees: Sequence[Any], values: Sequence[Value], finish: Finish) -> Function:
    """A function that looks at the types of the open columns and goes on to the one compiled for them."""
    paths = tuple(program.columns.open)
    by_class: dict[Any, Function] = {}
    by_type: dict[tuple[str, ...], Function] = {}

    def settle(*values: Any) -> Function:
        kinds = tuple(observed_type(value) for value in values)
        if kinds not in by_type:
            by_type[kinds] = _for_types(program.schema, trees, dict(zip(paths, kinds, strict=True)), finish)
        if all(value.__class__ in SIMPLE_TYPES for value in values):
            by_class[_key(values)] = by_type[kinds]
        return by_type[kinds]

    return program.define(_dispatch(program, by_class, settle))


def _for_types(schema: Schema | None, trees: Sequence[Any], observed: dict[Path, str], finish: Finish) -> Function:
    program = Program(schema, observed)
    return program.function(finish([_value(program, tree).code for tree in trees]))


def _key(values: tuple[Any, ...]) -> Any:
    return values[0].__class__ if len(values) == 1 else tuple(value.__class__ for value in values)


def _dispatch(program: Program, by_class: dict[Any, Function], settle: Callable[..., Function]) -> str:
    names = [f"v{index}" for index, _ in enumerate(program.columns.open)]
    reads = "; ".join(f"{name} = {code}" for name, code in zip(names, program.columns.open.values(), strict=True))
    classes = ", ".join(f"{name}.__class__" for name in names)
    table, miss = program.emitter.pooled(by_class), program.emitter.pooled(settle)
    return (
        f"{program.columns.prologue()}    {reads}\n"
        f"    try:\n        chosen = {table}[{classes}]\n"
        f"    except KeyError:\n        chosen = {miss}({', '.join(names)})\n"
        f"    return chosen(row)\n"
    )
