"""The type of a column, from values that were seen. Numbers widen; what nothing but text can hold is a string, and how sure that is, is told.

How sure: the share of its values that are of the type chosen, with one more of either kind than were seen, so that few values are never sure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from whorl.schema import Schema

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_DAY = re.compile(r"\d{4}-\d\d-\d\d$")
_WHOLE = re.compile(r"[-+]?\d{1,18}$")
_NAME = re.compile(r"\w+$")
_LONG = 1 << 63
_HUGE = "decimal(38,0)"
_WIDER = (({"long", _HUGE}, _HUGE), ({"long", "double", _HUGE}, "double"), ({"date", "timestamp"}, "timestamp"))


@dataclass
class Seen:
    """All values of one place: a column, a field of it, or the items of its lists."""

    kinds: Counter[str] = field(default_factory=Counter)
    fields: dict[str, Seen] = field(default_factory=dict)
    items: Seen | None = None

    def add(self, value: Any) -> None:
        if isinstance(value, Mapping):
            self.kinds["struct"] += 1
            for name, each in value.items():
                self.fields.setdefault(name, Seen()).add(each)
        elif isinstance(value, list):
            self.kinds["array"] += 1
            self.items = self.items or Seen()
            for each in value:
                self.items.add(each)
        else:
            self.kinds[_kind(value)] += 1

    @property
    def values(self) -> int:
        return self.kinds.total() - self.kinds["null"]

    @property
    def type(self) -> str:
        names = {name for name, count in self.kinds.items() if count and name != "null"}
        if names == {"struct"}:
            return self._struct()
        if names == {"array"}:
            return f"array<{self.items.type if self.items else 'string'}>"
        if len(names) == 1:
            return names.pop()
        return next((wide for among, wide in _WIDER if names and names <= among), "string")

    @property
    def fits(self) -> int:
        """How many values are of the type chosen, or widen to it."""
        kind = self.type.partition("<")[0]
        among = next((names for names, wide in _WIDER if wide == kind), {kind})
        return sum(count for name, count in self.kinds.items() if name in among)

    def _struct(self) -> str:
        if not self.fields or not all(_NAME.match(name) for name in self.fields):
            return "string"
        return f"struct<{','.join(f'{name}:{seen.type}' for name, seen in self.fields.items())}>"


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    sure: float
    """Between 0 and 1."""
    found: str
    """What was seen, in words."""


@dataclass(frozen=True)
class Inferred:
    """What a sample says of the columns of a topic or path."""

    columns: tuple[Column, ...]
    rows: int
    unreadable: int = 0

    @property
    def schema(self) -> Schema:
        return Schema(tuple((column.name, column.type) for column in self.columns))


def infer(rows: Iterable[Mapping[str, Any] | None]) -> Inferred:
    """Of rows, None where one could not be read."""
    whole, unreadable = Seen(), 0
    for row in rows:
        if row is None:
            unreadable += 1
        else:
            whole.add(row)
    count = whole.kinds["struct"]
    return Inferred(tuple(_column(name, seen, count) for name, seen in whole.fields.items()), count, unreadable)


def infer_cells(names: Iterable[str], lines: Iterable[list[str] | None]) -> Inferred:
    """Of text cells, as csv has them."""
    listed = list(names)
    cells = ({name: typed(cell) for name, cell in zip(listed, line, strict=False)} if line else None for line in lines)
    return infer(cells)


def typed(cell: str) -> Any:
    """What a cell of text would be in JSON."""
    text = cell.strip()
    if text == "":
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _WHOLE.match(text):
        return int(text)
    try:
        return float(text) if text[-1].isdigit() or text[-1] == "." else cell
    except ValueError:
        return cell


def _column(name: str, seen: Seen, rows: int) -> Column:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in seen.kinds.most_common() if count)
    missing = rows - seen.kinds.total()
    found = ", ".join(part for part in (kinds, f"{missing:,} without" if missing else "") if part)
    return Column(name, seen.type, (seen.fits + 1) / (seen.values + 2) if seen.values else 0.0, found)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "long" if -_LONG <= value < _LONG else _HUGE
    if isinstance(value, float):
        return "double"
    if isinstance(value, datetime):
        return "timestamp"
    return _text(value) if isinstance(value, str) else "date" if isinstance(value, date) else "string"


def _text(value: str) -> str:
    try:
        if _TIME.match(value):
            datetime.fromisoformat(value)
            return "timestamp"
        if _DAY.match(value):
            date.fromisoformat(value)
            return "date"
    except ValueError:
        pass
    return "string"
