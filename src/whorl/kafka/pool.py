"""Clients that are kept between uses, since a new one costs 40 to 100 ms: by what they were last used for, in one process.

Who borrows one has it alone. What failed in somebody's hands is closed and never lent again; what nobody wanted for `idle` seconds, or
does not answer to `is_well`, is closed when the pool is next used.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class Counts:
    """Of a pool, or of several together."""

    open: int = 0
    """Lent or waiting now."""
    opened: int = 0
    reused: int = 0
    expired: int = 0
    failed: int = 0

    def __add__(self, other: Counts) -> Counts:
        mine, theirs = asdict(self), asdict(other)
        return Counts(**{name: mine[name] + theirs[name] for name in mine})


@dataclass
class _Kept(Generic[T]):
    client: T
    key: Hashable
    since: float


class Pool(Generic[T]):
    def __init__(
        self,
        close: Callable[[T], object],
        is_well: Callable[[T], bool] = lambda client: True,
        idle: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = Counts()
        self._close, self._is_well, self._idle, self._clock = close, is_well, idle, clock
        self._kept: list[_Kept[T]] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrowed(self, kind: Hashable, key: Hashable, make: Callable[[], T]) -> Iterator[T]:
        """One of this kind, which any other of the kind can stand in for; the one last used for `key`, where it is there."""
        client = self._take(kind, key)
        if client is None:
            client = make()
            self.counts.opened += 1
            self.counts.open += 1
        try:
            yield client
        except BaseException:
            self.counts.failed += 1
            self._end(client)
            raise
        with self._lock:
            self._kept.append(_Kept(client, (kind, key), self._clock()))

    def close(self) -> None:
        """All that nobody has in hand."""
        with self._lock:
            kept, self._kept = self._kept, []
        for each in kept:
            self._end(each.client)

    def expire(self) -> None:
        with self._lock:
            now = self._clock()
            old = [each for each in self._kept if now - each.since > self._idle]
            self._kept = [each for each in self._kept if each not in old]
        self.counts.expired += len(old)
        for each in old:
            self._end(each.client)

    def _take(self, kind: Hashable, key: Hashable) -> T | None:
        self.expire()
        while found := self._pick(kind, key):
            if self._is_well(found.client):
                self.counts.reused += 1
                return found.client
            self.counts.failed += 1
            self._end(found.client)
        return None

    def _pick(self, kind: Hashable, key: Hashable) -> _Kept[T] | None:
        with self._lock:
            fit = [each for each in self._kept if isinstance(each.key, tuple) and each.key[0] == kind]
            best = next((each for each in fit if each.key == (kind, key)), fit[0] if fit else None)
            if best is not None:
                self._kept.remove(best)
            return best

    def _end(self, client: T) -> None:
        self.counts.open -= 1
        with suppress(Exception):  # it may be closed, or broken, already
            self._close(client)
