"""What a text of SQL is, before Spark has seen it. What cannot be told is left open: Spark may know it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from whorl.operators.sql.columns import columns_of
from whorl.operators.sql.replay import Replayed, replays
from whorl.operators.sql.rows import RowSelect, row_select
from whorl.operators.sql.tokens import Statement, statements
from whorl.operators.sql.tree import aggregates, parsed, windowed
from whorl.schema import Schema

INPUT = "input"
"""The name of the only input, whatever its id."""
_QUERY_BEGINS = (
    TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN, TokenType.VALUES, TokenType.TABLE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableName:
    """A table that is none of the text's own; with `parent`, one of Spark's catalog or `parent.name` of something else."""

    name: str
    offset: int
    parent: str = ""


@dataclass(frozen=True)
class SqlShape:
    statements: tuple[str, ...]
    known: bool
    """Whether the text could be read here; if not, what follows is open."""
    tables: tuple[TableName, ...]
    aggregates: bool
    windowed: bool
    joins: bool
    rows: RowSelect | None
    """What it is if it looks at one row at a time."""
    replay: tuple[Replayed, ...]
    trees: tuple[Any, ...]

    @property
    def row_by_row(self) -> bool:
        return self.rows is not None

    def columns(self, upstreams: Mapping[str, Schema | None]) -> Schema | None:
        """The columns that leave it, given those of the tables it reads; None where not all their names are known."""
        if not self.known:
            return None
        tables = {name.lower(): schema for name, schema in upstreams.items()}
        for view in self.trees[:-1]:
            tables[view.this.name.lower()] = columns_of(view.expression, tables)
        return columns_of(self.trees[-1], tables)


@lru_cache(256)
def shape(sql: str) -> SqlShape:
    listed = statements(sql)
    trees = tuple(parsed(statement.text) for statement in listed)
    known = all(_fits(tree, last=tree is trees[-1]) for tree in trees)
    queries = [tree for tree in trees if tree is not None]
    return SqlShape(
        statements=tuple(statement.text for statement in listed),
        known=known,
        tables=tuple(_tables(listed, queries)) if known else (),
        aggregates=any(map(aggregates, queries)),
        windowed=any(map(windowed, queries)),
        joins=any(tree.find(exp.Join) is not None for tree in queries),
        rows=row_select(listed[0], trees[0]) if known and len(listed) == 1 else None,
        replay=replays(sql),
        trees=trees,
    )


def wrong_statement(sql: str) -> tuple[int, str, str] | None:
    """(offset, what is wrong, what to do) with the first statement that is not of a kind that can stand there."""
    listed = statements(sql)
    for index, statement in enumerate(listed):
        begin = statement.words[0] if statement.words else None
        if begin is None:
            return 0, "it has no SQL", "write a SELECT"
        if index == len(listed) - 1 and begin.type not in _QUERY_BEGINS:
            return begin.start, f"the last statement begins with '{begin.text}' and gives no rows", "end with a SELECT"
        if index < len(listed) - 1 and not _makes_view(statement):
            hint = "write CREATE TEMPORARY VIEW name AS SELECT ..."
            return begin.start, f"'{begin.text}' before the last statement is not a temporary view", hint
    return None


def _makes_view(statement: Statement) -> bool:
    begin = [word.lower for word in statement.words[:6]]
    return begin[0] == "create" and "view" in begin and bool({"temp", "temporary"} & set(begin))


def _fits(tree: Any, *, last: bool) -> bool:
    if last:
        return isinstance(tree, exp.Query)
    return isinstance(tree, exp.Create) and isinstance(tree.expression, exp.Query)


def _tables(listed: Iterable[Statement], trees: Iterable[Any]) -> Iterator[TableName]:
    views: set[str] = set()
    for statement, tree in zip(listed, trees, strict=True):
        own = views | {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        query = tree.expression if isinstance(tree, exp.Create) else tree
        found = [table for table in query.find_all(exp.Table) if _is_read(table, own)]
        named = [TableName(table.name, _place(statement, table), table.db) for table in found]
        yield from sorted(named, key=lambda table: table.offset)
        if isinstance(tree, exp.Create):
            views.add(tree.this.name.lower())


def _is_read(table: Any, own: Collection[str]) -> bool:
    named = isinstance(table.this, exp.Identifier) and not isinstance(table.parent, exp.JoinHint)
    return named and (bool(table.db) or table.name.lower() not in own)


def _place(statement: Statement, table: Any) -> int:
    """The parser notes where an identifier stands in its statement."""
    name = table.args.get("db") or table.this
    return statement.words[0].start + int(name.meta.get("start", 0))
