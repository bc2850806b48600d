"""SQL text as Spark's words, each with its place, and the statements that it is made of.

The user's text is cut, never written anew: what Spark gets is what the pipeline says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


@dataclass(frozen=True, slots=True)
class Word:
    type: Any
    text: str
    start: int
    end: int
    """Behind its last character."""
    depth: int
    """How many brackets are open around it."""

    @property
    def lower(self) -> str:
        return self.text.lower()


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    words: tuple[Word, ...]
    """Their places are those in the whole text."""

    def cut(self, words: Sequence[Word]) -> str:
        """The text from the first to the last of some words."""
        start = self.words[0].start
        return self.text[words[0].start - start : words[-1].end - start]


@lru_cache(256)
def words(sql: str) -> tuple[Word, ...] | None:
    """None where it is not even words: a quote that is not closed."""
    try:
        tokens = Spark().tokenize(sql)
    except SqlglotError:
        return None
    found, depth = [], 0
    for token in tokens:
        depth -= token.token_type in CLOSING
        found.append(Word(token.token_type, token.text, token.start, token.end + 1, depth))
        depth += token.token_type in OPENING
    return tuple(found)


def statements(sql: str) -> tuple[Statement, ...]:
    """What stands between semicolons; a text that is not words is one statement without any."""
    found: list[Statement] = []
    current: list[Word] = []
    for word in (*(words(sql) or ()), Word(TokenType.SEMICOLON, ";", len(sql), len(sql), 0)):
        if word.type is not TokenType.SEMICOLON:
            current.append(word)
        elif current:
            found.append(Statement(sql[current[0].start : current[-1].end], tuple(current)))
            current = []
    return tuple(found) or (Statement(sql, ()),)
