"""One partition: an append-only log in which every record and every transaction marker takes an offset.

Readers of committed data stop at the last stable offset, the first record of the oldest open transaction, and never see
what an aborted transaction wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A record or a marker as it lies in the log. `producer_id` is -1 outside transactions."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int = 0
    timestamp_type: int = 1
    producer_id: int = -1
    marker: bool = False
    offset: int = -1


class PartitionLog:
    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.start = 0
        self._entries: list[Entry] = []
        self._open: dict[int, int] = {}
        self._aborted: set[int] = set()

    @property
    def end(self) -> int:
        """The high watermark: the offset that the next entry gets."""
        return self.start + len(self._entries)

    @property
    def last_stable(self) -> int:
        return max(self.start, min(self._open.values(), default=self.end))

    def readable_end(self, committed: bool) -> int:
        return self.last_stable if committed else self.end

    def append(self, entry: Entry) -> int:
        offset = self.end
        self._entries.append(replace(entry, offset=offset))
        if entry.producer_id >= 0:
            self._open.setdefault(entry.producer_id, offset)
        return offset

    def end_transaction(self, producer_id: int, commit: bool, timestamp: int) -> None:
        """Write the marker. It takes an offset even where the transaction wrote no record here."""
        first = self._open.pop(producer_id, self.end)
        if not commit:
            self._aborted.update(e.offset for e in self._from(first) if e.producer_id == producer_id)
        marker = Entry(self.topic, self.partition, None, None, (), timestamp, producer_id=producer_id, marker=True)
        self._entries.append(replace(marker, offset=self.end))

    def next_visible(self, offset: int, committed: bool) -> Entry | None:
        """The first record at or behind `offset` that a reader may see."""
        return next(self.visible(offset, committed), None)

    def visible(self, offset: int, committed: bool) -> Iterator[Entry]:
        end = self.readable_end(committed)
        for entry in self._from(offset):
            if entry.offset >= end:
                return
            if not entry.marker and not (committed and entry.offset in self._aborted):
                yield entry

    def trim(self, before: int) -> None:
        """Delete everything below an offset, as retention does."""
        before = min(max(before, self.start), self.end)
        del self._entries[: before - self.start]
        self.start = before

    def _from(self, offset: int) -> Iterator[Entry]:
        for index in range(max(offset - self.start, 0), len(self._entries)):
            yield self._entries[index]
