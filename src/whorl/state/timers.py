"""The timers of one logical partition. They are state: committed with it, there again after a restart, and each fires once.

There may be more than memory holds, so only those set or gone in this transaction are in memory; the others lie in the store in the order
in which they fire, and are read a few at a time. A timer that was taken is gone whatever becomes of its callback: who wants it again
sets it again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, MutableMapping
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple

from whorl.state.backend import Backend
from whorl.state.codec import TIMERS, encode, short
from whorl.state.table import Journal
from whorl.state.values import ABSENT, GONE

Kind = Literal["event", "processing"]
PREFIX = f"{TIMERS}\0".encode()
_CODES: dict[str, bytes] = {"event": b"e", "processing": b"p"}
_TIME = struct.Struct(">Q")
_MIDDLE = 1 << 63
"""Added to a time, so that those before 1970 come first in the order of bytes."""
_SET = True
_VALUE = encode(None)


class Timer(NamedTuple):
    time: int
    operator: str
    key: bytes


def _entry(kind: Kind, time: int, operator: str, key: bytes) -> bytes:
    return b"%b%b%b%b\0%b" % (PREFIX, _CODES[kind], _TIME.pack(time + _MIDDLE), operator.encode(), key)


def timer_of(entry: bytes) -> Timer:
    start = len(PREFIX) + 1
    operator, _, key = entry[start + 8 :].partition(b"\0")
    return Timer(_TIME.unpack_from(entry, start)[0] - _MIDDLE, operator.decode(), key)


def kind_of(entry: bytes) -> Kind:
    return "event" if entry.startswith(PREFIX + _CODES["event"]) else "processing"


class _Line:
    """The timers of one kind in the order they fire: a heap of those set in this transaction, beside a scan of those stored."""

    def __init__(self, prefix: bytes, backend: Backend, changes: dict[bytes, Any]) -> None:
        self._prefix, self._backend, self._changes = prefix, backend, changes
        self.fresh: list[tuple[bytes, bytes]] = []
        self.restart()

    def restart(self) -> None:
        self.fresh.clear()
        self._stored = self._backend.scan(self._prefix)
        self._head: bytes | None = None
        self._ended = False

    def add(self, entry: bytes) -> None:
        heappush(self.fresh, (short(entry), entry))

    def first(self) -> bytes | None:
        fresh, stored = self.first_fresh(), self._first_stored()
        if fresh is None or stored is None:
            return fresh if stored is None else stored
        return min(fresh, stored, key=short)

    def first_fresh(self) -> bytes | None:
        """Those cancelled or undone since are still in the heap."""
        fresh = self.fresh
        while fresh and self._changes.get(fresh[0][1]) is not _SET:
            heappop(fresh)
        return fresh[0][1] if fresh else None

    def _first_stored(self) -> bytes | None:
        while not self._ended and (self._head is None or self._changes.get(self._head) is GONE):
            self._head, _ = next(self._stored, (None, b""))
            self._ended = self._head is None
        return self._head


class Timers:
    def __init__(self, backend: Backend, journal: Journal) -> None:
        self._backend, self._journal = backend, journal
        self.changes: dict[bytes, Any] = {}
        """Of this transaction: set, or `GONE`."""
        self._lines = {kind: _Line(PREFIX + code, backend, self.changes) for kind, code in _CODES.items()}

    def at(self, operator: str, key: bytes, time: int, kind: Kind = "event") -> None:
        entry = _entry(kind, time, operator, key)
        if self.changes.get(entry) is not _SET:
            self._change(entry, _SET)
            self._lines[kind].add(entry)

    def cancel(self, operator: str, key: bytes, time: int, kind: Kind = "event") -> None:
        self._change(_entry(kind, time, operator, key), GONE)

    def next(self, kind: Kind) -> int | None:
        """When the first one is due."""
        entry = self._first(kind)
        return None if entry is None else timer_of(entry).time

    def overdue(self, kind: Kind, up_to: int) -> bool:
        """Whether one was set in this transaction for a time that has passed already."""
        entry = self._lines[kind].first_fresh()
        return entry is not None and timer_of(entry).time <= up_to

    def due(self, kind: Kind, up_to: int) -> Iterator[Timer]:
        """Takes them in order of time, operator, key; also those set meanwhile. Stop when you like: the rest stays."""
        while (entry := self._first(kind)) is not None:
            timer = timer_of(entry)
            if timer.time > up_to:
                return
            self.changes[entry] = GONE
            yield timer

    def pending(self) -> Iterator[Timer]:
        """All that are set, event time first, each kind in order; for looking, not for the loop."""
        for kind, code in _CODES.items():
            stored = (entry for entry, _ in self._backend.scan(PREFIX + code) if self.changes.get(entry) is not GONE)
            fresh = {entry for _, entry in self._lines[kind].fresh if self.changes.get(entry) is _SET}
            yield from map(timer_of, sorted(fresh.union(stored), key=short))

    # -- for the lp -------------------------------------------------------------------------------------------------------------------

    def write_into(self, delta: MutableMapping[bytes, bytes | None]) -> None:
        """Only what differs from the store: timers are often set again, or set and taken within a transaction."""
        for entry, change in self.changes.items():
            if (self._backend.get(entry) is None) == (change is _SET):
                delta[entry] = _VALUE if change is _SET else None

    def restart(self) -> None:
        """The store has changed, or this transaction is dropped: nothing in memory counts any more."""
        self.changes.clear()
        for line in self._lines.values():
            line.restart()

    def _change(self, entry: bytes, change: Any) -> None:
        self._journal.append((self.changes, entry, self.changes.get(entry, ABSENT)))
        self.changes[entry] = change

    def _first(self, kind: Kind) -> bytes | None:
        if self._journal:
            raise RuntimeError("timers are taken between records, not while one is open")
        return self._lines[kind].first()
