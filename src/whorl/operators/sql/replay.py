"""What gives another result when the same records are processed again, so that a batch that is repeated would differ.

It is found by its words, so also in SQL that only Spark can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokens import TokenType

from whorl.operators.expressions.registry import REPLAY
from whorl.operators.sql.tokens import Word, words

_CLOCKS = {
    "current_timestamp", "current_date", "current_time", "localtimestamp", "now", "curdate", "unix_timestamp",
}  # fmt: skip
_BARE = {"current_timestamp", "current_date", "current_time", "localtimestamp"}
"""Need no parentheses."""
_ONE_OF_SEVERAL = {"first", "first_value", "last", "last_value", "any_value"}
_GATHERED = {"collect_list", "collect_set", "array_agg", "listagg", "string_agg"}
_ORDER_BLIND = {"sort_array", "array_sort", "size", "cardinality", "array_size", "array_max", "array_min"}
"""Their result does not depend on the order of the array."""
_QUERIES = (TokenType.SELECT, TokenType.WITH, TokenType.FROM)
_ORDERS = {TokenType.ORDER_BY: "ORDER BY", TokenType.SORT_BY: "SORT BY"}


_DIFFERS = "a batch that is repeated would differ"


@dataclass(frozen=True, slots=True)
class Replayed:
    word: str
    reason: str
    hint: str
    offset: int

    @property
    def message(self) -> str:
        return f"'{self.word}' {self.reason}"


def replays(sql: str) -> tuple[Replayed, ...]:
    found = words(sql) or ()
    return tuple(
        each for index in range(len(found)) if (each := _function(found, index) or _clause(found, index)) is not None
    )


def _function(found: Sequence[Word], index: int) -> Replayed | None:
    word, name = found[index], found[index].lower
    called = _is(found, index + 1, TokenType.L_PAREN)
    if word.type in (TokenType.STRING, TokenType.IDENTIFIER) or _is(found, index - 1, TokenType.DOT, TokenType.ALIAS):
        return None
    if name in _CLOCKS and (called or name in _BARE):
        with_argument = called and not _is(found, index + 2, TokenType.R_PAREN)
        if name == "unix_timestamp" and with_argument:
            return None
        hint = "use a column of the record, such as its time"
        return Replayed(word.text, f"reads the clock: {_DIFFERS}", hint, word.start)
    if not called or name not in REPLAY | _ONE_OF_SEVERAL | _GATHERED:
        return None
    return _changing(found, index)


def _changing(found: Sequence[Word], index: int) -> Replayed | None:
    word, name = found[index], found[index].lower
    if name in _ONE_OF_SEVERAL:
        hint = f"use min_by({_argument(found, index)}, ...) or max_by({_argument(found, index)}, ...)"
        reason = f"takes whichever row comes first or last, and rows have no order: {_DIFFERS}"
        return Replayed(word.text, reason, hint, word.start)
    if name not in _GATHERED:
        reason = f"gives another value each time: {_DIFFERS}"
        return Replayed(word.text, reason, "use a column of the record", word.start)
    wrapped = _is(found, index - 1, TokenType.L_PAREN) and index > 1 and found[index - 2].lower in _ORDER_BLIND
    if wrapped or _ordered_within(found, index):
        return None
    sorting = "WITHIN GROUP (ORDER BY ...)" if name in ("listagg", "string_agg") else f"sort_array({name}(...))"
    reason = f"gathers rows in no certain order: {_DIFFERS}"
    return Replayed(word.text, reason, f"sort them: {sorting}", word.start)


def _clause(found: Sequence[Word], index: int) -> Replayed | None:
    word = found[index]
    if word.type is TokenType.TABLE_SAMPLE:
        reason = f"takes other rows each time: {_DIFFERS}"
        return Replayed("TABLESAMPLE", reason, "filter by a hash of a column", word.start)
    if word.type is TokenType.LIMIT and not _is(found, index - 1, TokenType.DOT, TokenType.ALIAS):
        reason = f"takes other rows each time, and a stream has no end: {_DIFFERS}"
        return Replayed("LIMIT", reason, "take it away", word.start)
    if word.type in _ORDERS and _of_a_query(found, index):
        return Replayed(_ORDERS[word.type], "sorts rows, and a stream has no last row", "take it away", word.start)
    return None


def _of_a_query(found: Sequence[Word], index: int) -> bool:
    """Not of OVER (...) or WITHIN GROUP (...): at the outside, or where the bracket around it begins with SELECT."""
    depth = found[index].depth
    opening = next((at for at in range(index - 1, -1, -1) if found[at].depth < depth), -1)
    return opening < 0 or _is(found, opening + 1, *_QUERIES)


def _ordered_within(found: Sequence[Word], index: int) -> bool:
    closing = next((at for at in range(index + 2, len(found)) if found[at].depth == found[index].depth), len(found))
    following = [word.lower for word in found[closing + 1 : closing + 3]]
    return following == ["within", "group"]


def _argument(found: Sequence[Word], index: int) -> str:
    return found[index + 2].text if index + 2 < len(found) and found[index + 2].text != ")" else "x"


def _is(found: Sequence[Word], index: int, *types: object) -> bool:
    return 0 <= index < len(found) and found[index].type in types
