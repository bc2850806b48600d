"""What Spark keeps for a key, as a backend of state: two of its maps, so that looking for timers does not read all the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from whorl.state.backend import Entry, Meta, Size
from whorl.state.codec import short
from whorl.state.timers import PREFIX as TIMERS

META = Meta("spark", "", "")


class KeyEntries:
    """Those of the current key."""

    meta: Meta | None = None

    def __init__(self, values: Any, timers: Any) -> None:
        self._values, self._timers = values, timers

    def get(self, key: bytes) -> bytes | None:
        found = self._of(key).getValue((key,))
        return None if found is None else bytes(found[0])

    def get_many(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        return {key: raw for key in keys if (raw := self.get(key)) is not None}

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[Entry]:
        entries = [(bytes(key[0]), bytes(value[0])) for map in self._maps(prefix) for key, value in map.iterator()]
        start = short(after) if after is not None else b""
        for key, value in sorted(entries, key=lambda entry: short(entry[0])):
            if key.startswith(prefix) and short(key) > start:
                yield key, value

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        for key, value in puts.items():
            if value is None:
                self._of(key).removeKey((key,))
            else:
                self._of(key).updateValue((key,), (value,))

    def count(self) -> int:
        return sum(1 for _ in self.scan(b""))

    def size(self) -> Size:
        sizes = [len(key) + len(value) for key, value in self.scan(b"")]
        return Size(len(sizes), sum(sizes))

    def close(self) -> None:
        """Spark's own affair."""

    def _of(self, key: bytes) -> Any:
        return self._timers if key.startswith(TIMERS) else self._values

    def _maps(self, prefix: bytes) -> tuple[Any, ...]:
        return (self._of(prefix),) if prefix else (self._values, self._timers)
