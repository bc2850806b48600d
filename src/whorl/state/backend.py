"""Where the committed state of a logical partition lies: ordered bytes, written in one piece together with the position they stand for.

A copy is only ever a shortcut to reading the whole changelog, so it is used when it is surely right (`misfit`) and else made anew.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import msgpack

from whorl.errors import WorldError
from whorl.state.codec import KEPT, short

META_VERSION = 1
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_FIRST, _MOST = 16, 512
_MANY = 1000

Entry = tuple[bytes, bytes]


class Size(NamedTuple):
    """Of what is kept; of a store on disk the pages that it takes."""

    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Meta:
    """What a copy is a copy of, and how far."""

    lineage: str
    """The uid of the pipeline's life."""
    topic: str
    topic_id: str
    position: int = 0
    """Offset of the first changelog record that is not in it."""
    current_at: int = 0
    """ms since 1970 when it last held all that the changelog did."""
    boot: str = ""
    """Of the machine: what was not synced may be lost by a crash of that, not by one of the process."""
    durable: bool = False
    """Whether every write was synced."""

    def encode(self) -> bytes:
        packed: bytes = msgpack.packb({"version": META_VERSION, **asdict(self)})
        return packed

    @classmethod
    def decode(cls, packed: bytes) -> Meta:
        fields = msgpack.unpackb(packed)
        version = fields.pop("version")
        if version > META_VERSION:
            raise WorldError(
                f"a local copy of state has format {version}, this Whorl knows {META_VERSION}", hint="delete the copy"
            )
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a copy must be to be used."""

    lineage: str
    topic: str
    topic_id: str
    end: int
    """Of the changelog."""
    max_age: float
    """Seconds; half of the time for which the changelog keeps tombstones."""
    now: int
    boot: str


def misfit(meta: Meta | None, wanted: Wanted) -> str:
    """Why a copy cannot be used; empty where it can."""
    if meta is None:
        return "there is no local copy"
    if meta.lineage != wanted.lineage:
        return f"the local copy belongs to '{meta.lineage}', not to '{wanted.lineage}'"
    if (meta.topic, meta.topic_id) != (wanted.topic, wanted.topic_id):
        return f"the local copy is of another changelog than '{wanted.topic}'"
    if meta.position > wanted.end:
        return f"the local copy is at {meta.position}, beyond the changelog's end at {wanted.end}"
    if wanted.now - meta.current_at > wanted.max_age * 1000:
        return "the local copy is so old that the changelog may have dropped deletions it has not seen"
    if not meta.durable and (not meta.boot or meta.boot != wanted.boot):
        return "the machine was started anew since the local copy was written"
    return ""


def boot_id() -> str:
    """Changes with every start of the machine; empty where that cannot be told."""
    return _BOOT.read_text().strip() if _BOOT.exists() else ""


class Backend(Protocol):
    @property
    def meta(self) -> Meta | None: ...

    def get(self, key: bytes) -> bytes | None: ...

    def get_many(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Of those that are there."""

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[Entry]:
        """In the order of `short`, behind the key `after`. A write under way of the scan is seen or not, and breaks nothing."""

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        """All of it or nothing; None deletes."""

    def count(self) -> int: ...

    def size(self) -> Size:
        """As far as it is written, and for next to nothing: it is asked all the time."""

    def close(self) -> None: ...


Chunk = Callable[[bytes, bool, int], list[Entry]]
"""(from where, whether that itself is left out, how many) -> entries in order, with no regard to the prefix."""


def scan_in_chunks(chunk: Chunk, prefix: bytes, after: bytes | None) -> Iterator[Entry]:
    """A few entries first, since most scans want the first one only; then more. No cursor stays open in between."""
    head = prefix[:KEPT]
    start, behind, size = (head, False, _FIRST) if after is None or short(after) < head else (after, True, _FIRST)
    while True:
        entries = chunk(start, behind, size)
        for key, value in entries:
            if key.startswith(prefix):
                yield key, value
            elif not short(key).startswith(head):
                return
        if len(entries) < size:
            return
        start, behind, size = entries[-1][0], True, min(size * 2, _MOST)


class MemoryBackend:
    """A dict. Keys are put in order when a scan asks for it first, and kept so."""

    def __init__(self) -> None:
        self.meta: Meta | None = None
        self._entries: dict[bytes, bytes] = {}
        self._sorted: list[bytes] | None = None
        self._bytes = 0
        self.get = self._entries.get

    def get_many(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        entries = self._entries
        return {key: entries[key] for key in keys if key in entries}

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[Entry]:
        return scan_in_chunks(self._chunk, prefix, after)

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        if len(puts) > _MANY:
            self._sorted = None
        for key, value in puts.items():
            if value is None:
                self._remove(key)
            else:
                self._put(key, value)
        self.meta = meta

    def count(self) -> int:
        return len(self._entries)

    def size(self) -> Size:
        return Size(len(self._entries), self._bytes)

    def close(self) -> None:
        """Nothing to let go of."""

    def _put(self, key: bytes, value: bytes) -> None:
        before = self._entries.get(key)
        if before is None and self._sorted is not None:
            insort(self._sorted, key, key=short)
        self._bytes += len(value) + (len(key) if before is None else -len(before))
        self._entries[key] = value

    def _remove(self, key: bytes) -> None:
        before = self._entries.pop(key, None)
        if before is None:
            return
        self._bytes -= len(key) + len(before)
        if self._sorted is not None:
            del self._sorted[bisect_left(self._sorted, short(key), key=short)]

    def _chunk(self, start: bytes, behind: bool, size: int) -> list[Entry]:
        if self._sorted is None:
            self._sorted = sorted(self._entries, key=short)
        at = (bisect_right if behind else bisect_left)(self._sorted, short(start), key=short)
        return [(key, self._entries[key]) for key in self._sorted[at : at + size]]
