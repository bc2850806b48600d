"""How much an operator keeps in a logical partition at most, and what it forgets for that: the keys that were not written for longest.

The order of writes and what is counted are state themselves, changed with the record that changes what they count: so they are undone,
committed and restored with it, and which keys go depends on nothing but the records.

    _order NUL operator NUL k key       number of its last write, its entries, their bytes
    _order NUL operator NUL q number    the key that was written then
    _order NUL operator NUL t           keys, bytes, the next number, and one before which there is none any more

Numbers only grow. A key whose entries have all gone is not counted; timers are none of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from whorl.state.backend import Backend
from whorl.state.codec import MAP, ORDER, decode, encode, map_group, user_key
from whorl.state.table import Journal, Table
from whorl.state.values import ABSENT, GONE

_NUMBER = struct.Struct(">Q")
_MAP = f"{MAP}\0".encode()
_AT_ONCE = 100
"""Keys that one record pushes out at most: where a limit was lowered, more than it brings."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of all logical partitions together."""

    keys: int | None = None
    size: int | None = None
    """Bytes of entries as they are stored, names and keys included."""

    def __bool__(self) -> bool:
        return self.keys is not None or self.size is not None

    def share(self, lps: int) -> Limits:
        """What one of so many lps may keep."""
        return Limits(*(None if limit is None else -(-limit // lps) for limit in (self.keys, self.size)))


@dataclass(slots=True)
class _Written:
    """What a record did to a key."""

    gained: int = 0
    grown: int = 0
    entries: int = 0
    """That it wrote, and are there now."""
    size: int = 0


class Bounds:
    """Of one operator in one lp."""

    def __init__(
        self,
        operator: str,
        tables: Iterable[Table],
        limits: Limits,
        table: Callable[[bytes], Table],
        backend: Backend,
        journal: Journal,
    ) -> None:
        """`limits`: the lp's own share. `table`: the lp's, by its prefix."""
        self._tables = {id(each.values): each for each in tables}
        self._limits, self._backend, self.journal = limits, backend, journal
        prefix = f"{ORDER}\0{operator}\0".encode()
        self._keys, self._queue, self._totals = (table(prefix + kind) for kind in (b"k", b"q", b"t"))

    def settle(self, mark: int) -> None:
        """A record or a timer is done: counts what it wrote since `mark` of the journal, and forgets what is too much."""
        newest = None
        for newest, written in self._written(mark).items():
            self._count(newest, written)
        if newest is not None:
            self._forget(newest)

    def expired(self, entry: bytes, raw: bytes) -> None:
        """An entry of one of its tables was swept."""
        key = user_key(entry)
        known = None if key is None else self._keys.peek(key)
        if key is not None and known is not None:
            number, entries, size = known
            gone = len(entry) + len(raw) if self._limits.size is not None else 0
            self._keep(key, number, (entries - 1, size - gone), known, self._total())

    def _written(self, mark: int) -> dict[bytes, _Written]:
        """By key, in the order they were written first."""
        found: dict[bytes, _Written] = {}
        for table, key, before, after in self._changes(self.journal[mark:]):
            user = key if not table.prefix.endswith(_MAP) else user_key(table.prefix + key) or b""
            written = found.setdefault(user, _Written())
            there, size = after is not GONE, self._size(table, key, after)
            written.gained += there - (before is not GONE)
            written.grown += size - self._size(table, key, before)
            written.entries += there
            written.size += size
        return found

    def _changes(self, journal: Journal) -> Iterator[tuple[Table, bytes, Any, Any]]:
        """Table, key, and what was there before and is now, of every entry once."""
        seen: set[tuple[int, bytes]] = set()
        for values, key, old in journal:
            table, place = self._tables.get(id(values)), (id(values), key)
            if table is not None and place not in seen:
                seen.add(place)
                yield table, key, table.committed(key) if old is ABSENT else old, values[key]

    def _size(self, table: Table, key: bytes, value: Any) -> int:
        if self._limits.size is None or value is GONE:
            return 0
        return len(table.prefix) + len(key) + len(encode(value))

    def _count(self, key: bytes, written: _Written) -> None:
        """What is kept since before there was a limit counts from its next write on."""
        known = self._keys.peek(key)
        now = (written.entries, written.size)
        if known is not None:
            now = (known[1] + written.gained, known[2] + written.grown)
            self._queue.delete(_NUMBER.pack(known[0]))
        keys, size, following, lowest = self._total()
        if now[0] > 0:
            self._queue.put(_NUMBER.pack(following), key)
        self._keep(key, following, now, known, [keys, size, following + 1, lowest])

    def _keep(
        self, key: bytes, number: int, now: tuple[int, int], known: list[int] | None, total: Sequence[int]
    ) -> None:
        """Of a key: its number, entries and bytes from now on. `total`: as it was, without the difference that they make."""
        there = now[0] > 0
        if there:
            self._keys.put(key, [number, *now])
        elif known is not None:
            self._keys.delete(key)
            self._queue.delete(_NUMBER.pack(known[0]))
        keys, size, *numbers = total
        grown = (now[1] if there else 0) - (known[2] if known else 0)
        self._totals.put(b"", [keys + there - (known is not None), size + grown, *numbers])

    def _forget(self, newest: bytes) -> None:
        """The key that was written now stays, however large it is."""
        for _ in range(_AT_ONCE):
            keys, size, following, lowest = self._total()
            if not (_beyond(keys, self._limits.keys) or _beyond(size, self._limits.size)):
                return
            number, key = self._oldest(lowest)
            if key == newest:
                return
            for table in self._tables.values():
                _delete(table, key)
            self._keep(key, number, (0, 0), self._keys.peek(key), [keys, size, following, number + 1])

    def _oldest(self, lowest: int) -> tuple[int, bytes]:
        """In the store, else among those of this transaction, whose numbers are all higher."""
        queue, cut = self._queue, len(self._queue.prefix)
        for entry, raw in self._backend.scan(queue.prefix, after=queue.prefix + _NUMBER.pack(lowest - 1)):
            if queue.values.get(entry[cut:], ABSENT) is not GONE:
                return _NUMBER.unpack(entry[cut:])[0], decode(raw)
        committed = self._totals.committed(b"")
        number = max(lowest, 1 if committed is GONE else committed[2])
        while (key := queue.values.get(_NUMBER.pack(number), GONE)) is GONE:
            number += 1
        return number, key

    def _total(self) -> list[int]:
        found: list[int] = self._totals.peek(b"") or [0, 0, 1, 1]
        return found


def _beyond(amount: int, limit: int | None) -> bool:
    return limit is not None and amount > limit


def _delete(table: Table, key: bytes) -> None:
    if not table.prefix.endswith(_MAP):
        table.delete(key)
        return
    group = map_group(key)
    for entry in [entry for entry, _ in table.scan(group)]:
        table.delete_in(group, entry)
