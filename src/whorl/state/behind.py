"""A store that is written less often than state is committed.

A commit of scattered keys writes as many pages of a tree as it has keys, and the next one writes most of them again. So what is committed
waits here in memory for some seconds, and is then written at once. Nothing depends on it: the truth is the changelog, and a process that
dies finds its copy so much older, at the position that belongs to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from operator import methodcaller

from whorl.state.backend import Backend, Entry, Meta, Size
from whorl.state.codec import TIMERS
from whorl.state.values import ABSENT

_TIMERS = TIMERS.encode()
_IS_TIMER = methodcaller("startswith", _TIMERS)
_AGE = 5.0
_MOST = 200_000
"""Entries that wait, at most."""
_MANY = 100_000
"""Entries that need not wait for others: a start with much to read brings so many."""
LARGEST_BACKLOG = 60 << 20
ENTRY_OVERHEAD = 200
"""Bytes that an entry takes in memory beside those of its key and its value, more or less."""


class Backlog:
    """What waits in several stores, those of a task's lps, and how many bytes it may take together. Beyond that the largest is written."""

    def __init__(self, limit: int = LARGEST_BACKLOG) -> None:
        self.limit, self.used = limit, 0
        self._stores: list[WriteBehind] = []

    def join(self, store: WriteBehind) -> None:
        self._stores.append(store)

    def leave(self, store: WriteBehind) -> None:
        self._stores.remove(store)

    def relieve(self) -> None:
        """What was written again while it waited was counted each time; here it is counted once, and where that is little, nothing need be
        written."""
        by_size = sorted(self._stores, key=WriteBehind.recount)
        while self.used > self.limit * 3 // 4:
            by_size.pop().flush()


class WriteBehind:
    def __init__(
        self,
        backend: Backend,
        backlog: Backlog | None = None,
        age: float = _AGE,
        most: int = _MOST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend, self._age, self._most, self._clock = backend, age, most, clock
        self._backlog, self._size = backlog or Backlog(), 0
        self._backlog.join(self)
        self._waiting: dict[bytes, bytes | None] = {}
        self._timers = False
        """Whether any of what waits is a timer."""
        self._since = clock()
        self.meta = backend.meta

    def get(self, key: bytes) -> bytes | None:
        found = self._waiting.get(key, ABSENT)
        return self._backend.get(key) if found is ABSENT else found  # type: ignore[return-value]

    def get_many(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        waiting = self._waiting
        found = self._backend.get_many([key for key in keys if key not in waiting])
        found |= {key: raw for key in keys if (raw := waiting.get(key)) is not None}
        return found

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[Entry]:
        """Timers are looked for all the time, and rarely change: for them alone nothing need be written first."""
        if self._timers or not prefix.startswith(_TIMERS):
            self.flush()
        return self._backend.scan(prefix, after)

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        if len(puts) >= _MANY and not self._waiting:
            self._backend.write(puts, meta)
            self.meta = meta
            return
        if not self._waiting:
            self._since = self._clock()
        self._waiting.update(puts)
        self.meta = meta
        self._count(_size(puts))
        if len(self._waiting) > self._most or self._clock() - self._since >= self._age:
            self.flush()
        else:
            self._timers = self._timers or any(map(_IS_TIMER, puts))
            if self._backlog.used > self._backlog.limit:
                self._backlog.relieve()

    def flush(self) -> None:
        if self._waiting and self.meta is not None:
            self._backend.write(self._waiting, self.meta)
            self._waiting, self._timers = {}, False
            self._count(-self._size)

    def recount(self) -> int:
        """Bytes that wait."""
        self._count(_size(self._waiting) - self._size)
        return self._size

    def _count(self, more: int) -> None:
        self._size += more
        self._backlog.used += more

    def count(self) -> int:
        self.flush()
        return self._backend.count()

    def size(self) -> Size:
        """What has waited for its time is written: it may be the last that comes for long."""
        if self._clock() - self._since >= self._age:
            self.flush()
        return self._backend.size()

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._count(-self._size)
            self._backlog.leave(self)
            self._backend.close()


def _size(entries: Mapping[bytes, bytes | None]) -> int:
    return sum(map(len, entries)) + sum(map(len, filter(None, entries.values()))) + ENTRY_OVERHEAD * len(entries)
