"""From bytes to rows and back.

Laws of every format: no value (a tombstone) decodes to None, and a row whose only value is null encodes to None where the
format is that value alone; what does not decode or encode raises ValueError with a sentence that names the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Decode = Callable[[bytes | None], Row | None]
Encode = Callable[[Row], bytes | None]
TOMBSTONE = "the record has no value (a tombstone), so there is no row"


@dataclass(frozen=True, slots=True)
class Quick:
    """Two expressions: the bytes of a row, and where they are right."""

    value: str
    where: str


@dataclass(frozen=True, slots=True)
class Codec:
    decode: Decode
    encode: Encode
    columns: Mapping[str, str] | None = None
    """`decode` as source, where it is so simple: of each column an expression over `data`, which raises where there is none."""
    quick: Callable[[Mapping[str, str]], Quick | None] | None = None
    """`encode` as source, for most rows: from an expression of each column."""


def missing(column: str, row: Row) -> ValueError:
    return ValueError(f"there is no column '{column}' to write; the row has: {', '.join(row) or 'no columns'}")
