"""From bytes to rows and back.

Laws of every format: no value (a tombstone) decodes to None, and a row whose only value is null encodes to None where the
format is that value alone; what does not decode or encode raises ValueError with a sentence that names the column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Decode = Callable[[bytes | None], Row | None]
Encode = Callable[[Row], bytes | None]
TOMBSTONE = "the record has no value (a tombstone), so there is no row"


@dataclass(frozen=True, slots=True)
class Codec:
    decode: Decode
    encode: Encode


def missing(column: str, row: Row) -> ValueError:
    return ValueError(f"there is no column '{column}' to write; the row has: {', '.join(row) or 'no columns'}")
