"""Decode, fold and encode many records in one loop, written for a fold and its formats: no call and no row for each record where the parts
offer themselves as source.

The law: the same values and the same state as one record after the other, or an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from whorl.formats.codec import TOMBSTONE, Codec, Row
from whorl.state.values import GONE, Timed

Column = Callable[[str], str]
"""From the name of a column of the record to an expression of it."""
Folded = tuple[list[bytes | None], dict[Any, Any]]
"""What leaves, and what is to be kept."""
Look = Callable[[Any], Any]
"""For what is kept of a key; None: it is not known."""
FoldMany = Callable[[list[Any], list[Any], Look, Look, Look], Folded]
"""Keys, values, and where to look: first for what was changed, then for what was committed, and for what is kept for a time."""
_EACH = " " * 8


@dataclass(frozen=True, slots=True)
class Inlined:
    """A fold as source: statements over `held`, which is None where nothing is kept, and over columns of the record."""

    lines: tuple[str, ...]
    kept: str
    """What is kept from now on: an expression that is never None."""
    columns: Mapping[str, str]
    """The row that leaves, an expression for each column."""
    scope: Mapping[str, Any] = field(default_factory=dict)


def fold_many(
    fold: Callable[[Any, Row], tuple[Any, Row]],
    inlined: Callable[[Column], Inlined | None],
    read: Codec,
    written: Codec,
) -> FoldMany:
    scope = {
        "GONE": GONE,
        "decode": read.decode,
        "encode": written.encode,
        "fold": fold,
        "absent": _absent,
        "Timed": Timed,
    }
    columns = read.columns
    source = inlined(_row_column if columns is None else lambda name: columns.get(name, "None"))
    if source is None:
        body = [*_decoded(), "value, result = fold(held, row)", "kept[key] = GONE if value is None else value"]
        body += ["append(encode(result))"]
    else:
        scope |= source.scope
        body = [*(_decoded() if columns is None else []), *source.lines, f"kept[key] = {source.kept}"]
        body += [f"append({_encoded(source.columns, written)})"]
    return _compiled(body, scope)


def _decoded() -> list[str]:
    return ["row = decode(data) or absent()"]


def _absent() -> Row:
    raise ValueError(TOMBSTONE)


def _row_column(name: str) -> str:
    return f"row.get({name!r})"


def _encoded(columns: Mapping[str, str], written: Codec) -> str:
    row = f"encode({{{', '.join(f'{name!r}: {each}' for name, each in columns.items())}}})"
    quick = written.quick(columns) if written.quick else None
    return f"{quick.value} if {quick.where} else {row}" if quick else row


def _compiled(body: list[str], scope: dict[str, Any]) -> FoldMany:
    lines = [
        "def fold_many(keys, datas, changed, committed, lasting):",
        "    kept, leaving = {}, []",
        "    append = leaving.append",
        "    for key, data in zip(keys, datas):",
        "        held = kept.get(key)",
        "        if held is None:",
        "            held = changed(key)",
        "            if held is None:",
        "                held = committed(key)",
        "                if held.__class__ is Timed:",
        "                    held = lasting(key)",
        "        if held is GONE:",
        "            held = None",
        *(_EACH + line for line in body),
        "    return leaving, kept",
    ]
    exec("\n".join(lines), scope)
    made: FoldMany = scope["fold_many"]
    return made
