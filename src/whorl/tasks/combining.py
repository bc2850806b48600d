"""Messages to one key that are merged before they are sent, or processed in memory: of many, one is left.

They wait for the commit, and their order is that in which their keys came first. What has no key is not merged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whorl.config.spec import Combine
from whorl.formats import codec
from whorl.operators.keyed import combined
from whorl.operators.record import Row, round_of, with_round
from whorl.plan.plan import Output
from whorl.sinks.kafka import Entry
from whorl.tasks.returned import Returned

Merge = Callable[[bytes, Row, Row], Row]


class Combiner:
    """How the messages of one topic are merged."""

    def __init__(self, output: Output, merge: Merge) -> None:
        format = codec(output.format, output.schema)
        self.decode, self.encode, self.merge = format.decode, format.encode, merge


class Merged:
    """Messages to one partition."""

    def __init__(self, combiner: Combiner | None) -> None:
        self._combiner = combiner
        self._entries: dict[Any, Entry] = {}
        self._rows: dict[bytes, Row] = {}
        """Of those that more than one went into."""

    def add(self, entry: Entry) -> bool:
        """Whether it is one more."""
        key, combiner = entry[2], self._combiner
        before = self._entries.get(key) if combiner is not None and key is not None else None
        if combiner is None or key is None or before is None:
            self._entries[key if combiner is not None and key is not None else object()] = entry
            return True
        row = self._rows.get(key) or combiner.decode(before[1]) or {}
        self._rows[key] = combiner.merge(key, row, combiner.decode(entry[1]) or {})
        round = max(round_of(Returned(before)), round_of(Returned(entry)))
        self._entries[key] = (*entry[:7], with_round(entry[7], round))
        return False

    def put_back(self, entries: list[Entry]) -> None:
        """Before all that has come meanwhile."""
        since = self.take()
        for entry in (*entries, *since):
            self.add(entry)

    def take(self) -> list[Entry]:
        """All of them; none are left."""
        entries, rows = self._entries, self._rows
        self._entries, self._rows = {}, {}
        if self._combiner is None:
            return list(entries.values())
        encode = self._combiner.encode
        return [(entry[0], encode(rows[key]), *entry[2:]) if key in rows else entry for key, entry in entries.items()]

    def __bool__(self) -> bool:
        return bool(self._entries)


def by_columns(columns: tuple[tuple[str, Combine], ...]) -> Merge:
    """Column by column; of the columns that are not named those of the row whose first named one has won, or of the later row."""
    column, how = columns[0]

    def merge(key: bytes, one: Row, other: Row) -> Row:
        first_wins = how != "sum" and combined(how, one.get(column), other.get(column)) == one.get(column)
        row = {**other, **one} if first_wins else {**one, **other}
        for name, each in columns:
            row[name] = combined(each, one.get(name), other.get(name))
        return row

    return merge
