"""The columns that leave a SELECT, as far as its text tells: names where each has one, types where they are plain to see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from whorl.operators.expressions import ExpressionError, compile_expression
from whorl.operators.sql.tree import WINDOWS, SparkText
from whorl.schema import UNKNOWN, Schema

Tables = Mapping[str, Schema | None]
"""By name in lower case."""

_COUNTS = {"count", "count_if", "approx_count_distinct", "regr_count"}
_SAME = {"min", "max", "min_by", "max_by", "first", "last", "first_value", "last_value", "any_value"}
_MEANS = {"avg", "mean", "std", "stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"}
_SUMS = {"int": "long", "long": "long", "float": "double", "double": "double"}
_LEFT_ONLY = {"SEMI", "ANTI"}


def columns_of(query: Any, tables: Tables) -> Schema | None:
    """None where not even all names are known."""
    known = dict(tables)
    for cte in query.ctes if isinstance(query, exp.Query) else ():
        known[cte.alias.lower()] = _renamed(columns_of(cte.this, known), cte.args.get("alias"))
    if isinstance(query, exp.SetOperation):
        return columns_of(query.this, known)
    if isinstance(query, exp.Subquery):
        return columns_of(query.this, known)
    return _selected(query, known) if isinstance(query, exp.Select) else None


def _renamed(schema: Schema | None, alias: Any) -> Schema | None:
    names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not names or schema is None:
        return None if names else schema
    return Schema(tuple((name, kind) for name, (_, kind) in zip(names, schema, strict=False)))


def _selected(select: Any, tables: Tables) -> Schema | None:
    scope = _scope(select, tables)
    columns: list[tuple[str, str]] = []
    for node in select.expressions:
        made = _columns(node, scope)
        if made is None:
            return None
        columns += made
    distinct = len({name.lower() for name, _ in columns}) == len(columns)
    return Schema(tuple(columns)) if columns and distinct else None


@dataclass(frozen=True)
class Scope:
    """What a SELECT reads: each table by the name that columns may give it."""

    tables: Mapping[str, Schema | None]
    star: bool
    """Whether `*` is just all of their columns."""

    @property
    def merged(self) -> Schema | None:
        columns: dict[str, str] = {}
        for schema in self.tables.values():
            for name, kind in schema or ():
                columns[name] = kind if columns.get(name, kind) == kind else UNKNOWN
        return Schema(tuple(columns.items())) if None not in self.tables.values() else None


def _scope(select: Any, tables: Tables) -> Scope:
    joins = select.args.get("joins") or []
    read = [select.args["from_"].this] if select.args.get("from_") else []
    read += [join.this for join in joins if join.kind not in _LEFT_ONLY]
    plain = not any(join.args.get("using") or join.method for join in joins) and not select.args.get("laterals")
    return Scope({each.alias_or_name.lower(): _table(each, tables) for each in read}, plain)


def _table(node: Any, tables: Tables) -> Schema | None:
    if isinstance(node, exp.Subquery):
        return columns_of(node.this, tables)
    named = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("db")
    return tables.get(node.name.lower()) if named else None


def _columns(node: Any, scope: Scope) -> list[tuple[str, str]] | None:
    if isinstance(node, exp.Star):
        whole = scope.merged if scope.star and not any(node.args.values()) else None
        return list(whole) if whole else None
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        of = scope.tables.get(node.table.lower())
        return list(of) if of else None
    if not isinstance(node, exp.Alias | exp.Column):
        return None
    return [(node.output_name, type_of(node.unalias(), scope.merged, scope.tables))]


def type_of(node: Any, schema: Schema | None, qualifiers: Iterable[str] = ()) -> str:
    """Of an expression that may aggregate."""
    if _is_bound(node):
        return "timestamp"
    if isinstance(node, exp.Filter):
        return type_of(node.this, schema, qualifiers)
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if name in _COUNTS:
        return "long"
    if name in _SAME | _MEANS | {"sum"}:
        inner = type_of(node.expressions[0], schema, qualifiers) if node.expressions else UNKNOWN
        return _aggregated(name, inner)
    return _row_type(node, schema, set(qualifiers))


def _is_bound(node: Any) -> bool:
    """Whether it is the start or end of a window of time: `window.start`, `window(at, '1 minute').start`."""
    if isinstance(node, exp.Column):
        return node.table.lower() in WINDOWS and node.name.lower() in ("start", "end")
    called = isinstance(node, exp.Dot) and isinstance(node.this, exp.Anonymous)
    return called and str(node.this.this).lower() in WINDOWS and node.name.lower() in ("start", "end")


def _aggregated(name: str, inner: str) -> str:
    if name in _SAME:
        return inner
    known = _SUMS.get(inner, UNKNOWN)
    return known if name == "sum" or known == UNKNOWN else "double"


def _row_type(node: Any, schema: Schema | None, qualifiers: set[str]) -> str:
    bare = node.transform(lambda each: _unqualified(each, qualifiers))
    try:
        return compile_expression(bare.sql(dialect=SparkText), schema).type if schema else UNKNOWN
    except ExpressionError:
        return UNKNOWN


def _unqualified(node: Any, qualifiers: set[str]) -> Any:
    table_first = isinstance(node, exp.Column) and len(node.parts) == 2 and node.table.lower() in qualifiers
    return exp.column(node.this.copy()) if table_first else node
