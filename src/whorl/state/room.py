"""Memory for committed values that are decoded already: bounded, and never a second truth, since it can be emptied at any time."""

from __future__ import annotations

from typing import Any


class Room:
    """How much memory the caches of some tables, or of all lps of a task, may take together. When it is used up they are emptied:
    rare, simple, and never wrong."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._caches: list[dict[bytes, Any]] = []

    def cache(self) -> dict[bytes, Any]:
        cache: dict[bytes, Any] = {}
        self._caches.append(cache)
        return cache

    def forget(self, cache: dict[bytes, Any]) -> None:
        self._caches = [each for each in self._caches if each is not cache]

    def take(self, size: int) -> None:
        self.used += size
        if self.used > self.limit:
            self.empty()

    def empty(self) -> None:
        self.used = 0
        for cache in self._caches:
            cache.clear()
