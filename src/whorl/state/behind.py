"""A store that is written less often than state is committed.

A commit of scattered keys writes as many pages of a tree as it has keys, and the next one writes most of them again. So what is committed
waits here in memory for some seconds, and is then written at once. Nothing depends on it: the truth is the changelog, and a process that
dies finds its copy so much older, at the position that belongs to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from whorl.state.backend import Backend, Entry, Meta
from whorl.state.codec import TIMERS
from whorl.state.values import ABSENT

_TIMERS = TIMERS.encode()
_AGE = 5.0
_MOST = 50_000
"""Entries that wait, at most."""


class WriteBehind:
    def __init__(
        self, backend: Backend, age: float = _AGE, most: int = _MOST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._backend, self._age, self._most, self._clock = backend, age, most, clock
        self._waiting: dict[bytes, bytes | None] = {}
        self._timers = False
        """Whether any of what waits is a timer."""
        self._since = clock()
        self.meta = backend.meta

    def get(self, key: bytes) -> bytes | None:
        found = self._waiting.get(key, ABSENT)
        return self._backend.get(key) if found is ABSENT else found  # type: ignore[return-value]

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[Entry]:
        """Timers are looked for all the time, and rarely change: for them alone nothing need be written first."""
        if self._timers or not prefix.startswith(_TIMERS):
            self.flush()
        return self._backend.scan(prefix, after)

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        if not self._waiting:
            self._since = self._clock()
        self._waiting.update(puts)
        self.meta = meta
        if len(self._waiting) > self._most or self._clock() - self._since >= self._age:
            self.flush()
        else:
            self._timers = self._timers or any(key.startswith(_TIMERS) for key in puts)

    def flush(self) -> None:
        if self._waiting and self.meta is not None:
            self._backend.write(self._waiting, self.meta)
            self._waiting, self._timers = {}, False

    def count(self) -> int:
        self.flush()
        return self._backend.count()

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._backend.close()
