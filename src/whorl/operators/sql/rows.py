"""A SELECT that looks at one row at a time: one table, columns made of it, perhaps a WHERE, and nothing else.

Such a statement is no query of its own to Spark but a condition and columns, so that a record's key, time and headers stay with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from whorl.operators.native import Select
from whorl.operators.sql.tokens import Statement, Word
from whorl.operators.sql.tree import GENERATORS, function_names, is_aggregate
from whorl.operators.sqltext import quoted, told_apart
from whorl.schema import Schema

_PLAIN_PARTS = {"expressions", "from_", "where"}
_NOT_BY_ROW = (exp.Window, exp.Query, exp.Distinct, exp.Lateral, exp.AggFunc, exp.Aliases, exp.Placeholder)


@dataclass(frozen=True, slots=True)
class Item:
    """A column of a SELECT; `*` has no name."""

    name: str
    sql: str
    refers: frozenset[str]
    """Names in lower case that it uses."""


@dataclass(frozen=True, slots=True)
class RowSelect:
    table: str
    qualifier: str
    """How columns may name the table: its alias, if it has one."""
    condition: str | None
    items: tuple[Item, ...]

    def lowered(self, schema: Schema | None) -> Select | None:
        """None where that takes columns that are not known, or a name that could mean two things."""
        if schema is None or self.qualifier.lower() in {name.lower() for name in schema.names}:
            return None
        columns = [column for item in self.items for column in _expanded(item, schema)]
        if not told_apart(name for name, _ in columns) or self._refers_to_itself(schema):
            return None
        return Select(self.condition, tuple(columns))

    def _refers_to_itself(self, schema: Schema) -> bool:
        """Whether a column is made from another of the same SELECT."""
        known = {name.lower() for name in schema.names}
        made = {item.name.lower() for item in self.items} - known
        return any(item.refers & made for item in self.items)


def _expanded(item: Item, schema: Schema) -> list[tuple[str, str]]:
    return [(item.name, item.sql)] if item.name else [(name, quoted(name)) for name in schema.names]


def row_select(statement: Statement, tree: Any) -> RowSelect | None:
    """None where the statement is more than that, or leaves a column without a name of its own."""
    if not isinstance(tree, exp.Select) or not _is_plain(tree):
        return None
    table = tree.args["from_"].this
    parts = _parts(statement.words)
    if parts is None or not _is_table(table):
        return None
    listed, condition = parts
    if len(listed) != len(tree.expressions):
        return None
    cut = _Cutter(statement, table.alias_or_name)
    items = tuple(_item(cut, words, node) for words, node in zip(listed, tree.expressions, strict=True))
    if any(item is None for item in items):
        return None
    where = cut(condition) if condition else None
    return RowSelect(table.name, table.alias_or_name, where, tuple(item for item in items if item))


def _is_plain(tree: Any) -> bool:
    if any(value for name, value in tree.args.items() if name not in _PLAIN_PARTS) or not tree.args.get("from_"):
        return False
    if any(node is not tree and isinstance(node, _NOT_BY_ROW) for node in tree.walk()):
        return False
    return not any(name in GENERATORS for name in function_names(tree)) and not any(
        is_aggregate(node) for node in tree.find_all(exp.Func)
    )


def _is_table(table: Any) -> bool:
    named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    return named and not any(value for name, value in table.args.items() if name not in ("this", "alias"))


def _parts(words: Sequence[Word]) -> tuple[list[list[Word]], list[Word]] | None:
    """The words of each column, and those of the condition."""
    odd = any(word.type is TokenType.PIPE_GT for word in words) or any(w.type is TokenType.ALL for w in words[1:2])
    if odd or not words or words[0].type is not TokenType.SELECT:
        return None
    outer = {word.type: index for index, word in reversed(list(enumerate(words))) if word.depth == 0}
    begin, end = outer.get(TokenType.FROM, 0), outer.get(TokenType.WHERE, len(words))
    return _split(words[1:begin]), list(words[end + 1 :])


def _split(words: Sequence[Word]) -> list[list[Word]]:
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.type is TokenType.COMMA and word.depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


@dataclass(frozen=True, slots=True)
class _Cutter:
    """Cuts text out of a statement, less the name of the table before columns."""

    statement: Statement
    qualifier: str

    def __call__(self, words: Sequence[Word]) -> str:
        return "".join(self._pieces(words))

    def _pieces(self, words: Sequence[Word]) -> Iterator[str]:
        start = 0
        for index in range(len(words)):
            if self._is_qualifier(words, index):
                if index > start:
                    yield self.statement.cut([words[start], words[index - 1]]) + _gap(words, index)
                start = index + 2
        yield self.statement.cut([words[start], words[-1]])

    def _is_qualifier(self, words: Sequence[Word], index: int) -> bool:
        word = words[index]
        named = word.type is not TokenType.STRING and word.lower == self.qualifier.lower()
        after = index + 2 < len(words) and words[index + 1].type is TokenType.DOT
        return named and after and not (index and words[index - 1].type is TokenType.DOT)


def _gap(words: Sequence[Word], index: int) -> str:
    return " " if words[index].start > words[index - 1].end else ""


def _item(cut: _Cutter, words: Sequence[Word], node: Any) -> Item | None:
    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        return Item("", "", frozenset()) if words[-1].type is TokenType.STAR else None
    name = node.output_name if isinstance(node, exp.Alias | exp.Column) else ""
    if not name or not words:
        return None
    kept = _less_alias(words) if isinstance(node, exp.Alias) else words
    refers = frozenset(column.parts[0].name.lower() for column in node.find_all(exp.Column))
    return Item(name, cut(kept), refers)


def _less_alias(words: Sequence[Word]) -> Sequence[Word]:
    return words[:-2] if words[-2].type is TokenType.ALIAS else words[:-1]
