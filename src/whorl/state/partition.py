"""The state of one logical partition (lp): tables, timers and clocks, over one backend.

    absorb                   before all else: what the changelog holds beyond the copy's position
    begin, keep | undo       for each record or timer: whole or without a trace
    delta                    at commit: every changed entry once, for the changelog, in Kafka's transaction
    store                    only after Kafka has committed: into the backend, together with the position
    drop                     after an abort: back to the last store

A process that dies between Kafka's commit and `store` finds its copy at the older position, and absorbs what it missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from whorl.state.backend import Backend, Meta, Size
from whorl.state.bounds import Bounds, Limits
from whorl.state.codec import check, expiry, table_prefix
from whorl.state.room import Room
from whorl.state.table import Journal, Table
from whorl.state.timers import Timers
from whorl.state.times import Times
from whorl.state.values import ABSENT, Timed

LP_KEY = b"_lp"
"""The host's own record of the lp: it travels and is stored with the state, which does not look into it."""
CACHE_BYTES = 32 << 20
_MASK = (1 << 64) - 1


def _wall() -> int:
    return time.time_ns() // 1_000_000


class LpState:
    def __init__(
        self,
        backend: Backend,
        meta: Meta,
        inputs: Iterable[str] = (),
        room: Room | None = None,
        wall: Callable[[], int] = _wall,
        lps: int = 1,
        number: int = 0,
    ) -> None:
        """`meta` is what the copy is of; its position counts for nothing, that of the backend does. `room` may be shared by lps. `lps`: how
        many share the keys, of which this is the `number`."""
        self.clocks = Times(inputs)
        self._backend, self._wall = backend, wall
        self.lps, self.number = lps, number
        self._journal: Journal = []
        self._room = room or Room(CACHE_BYTES)
        self._tables: dict[bytes, Table] = {}
        self._bounds: dict[str, Bounds] = {}
        self.timers = Timers(backend, self._journal)
        found = backend.meta or replace(meta, position=0, current_at=wall())
        self._meta = replace(meta, position=found.position, current_at=found.current_at)
        self._committed_times = self.clocks.export()
        self._pending: dict[bytes, bytes | None] | None = None
        self._swept: bytes | None = None
        self.keep = self._journal.clear
        """The record is done: what it wrote stays."""
        self.check: Callable[[], None] | None = None
        """What the host wants to be called before a record is kept; it may raise."""

    @property
    def position(self) -> int:
        """Of the changelog: where to absorb from."""
        return self._meta.position

    @property
    def record(self) -> bytes | None:
        """The host's own, as it was stored last."""
        return self._backend.get(LP_KEY)

    @property
    def changed(self) -> bool:
        """Whether there is anything for a delta."""
        return bool(self.timers.changes) or any(table.values for table in self._tables.values())

    def last_end(self, event: bool) -> int | None:
        """When the last of what this transaction put has ended, in event time or in processing time; None where nothing of it ends."""
        put = (value for table in self._tables.values() for value in table.values.values())
        return max((each.expires for each in put if each.__class__ is Timed and each.event == event), default=None)

    def table(self, operator: str, state: str, event: bool = False) -> Table:
        """`event`: whether what is put in it ends in event time."""
        table = self._table(table_prefix(operator, state))
        table.event = event
        return table

    def _table(self, prefix: bytes) -> Table:
        if prefix not in self._tables:
            self._tables[prefix] = Table(prefix, self._backend, self._journal, self.clocks, self._room)
        return self._tables[prefix]

    def bounds(self, operator: str, tables: Iterable[Table], limits: Limits) -> Bounds:
        """Those of an operator whose states are in these tables."""
        if operator not in self._bounds:
            share = limits.share(self.lps)
            self._bounds[operator] = Bounds(operator, tables, share, self._table, self._backend, self._journal)
        return self._bounds[operator]

    # -- a record ---------------------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        if self._pending is not None or self._journal:
            raise RuntimeError(
                "a record begins when the last one was kept or undone and the commit is stored or dropped"
            )

    def undo(self) -> None:
        """The record failed: as if it had never been tried."""
        journal = self._journal
        while journal:
            changed, key, old = journal.pop()
            if old is ABSENT:
                del changed[key]
            else:
                changed[key] = old

    def oversized(self, most: int) -> tuple[bytes, int] | None:
        """An entry that the record has written and that takes more than so many bytes, and how many. That takes its time: all that the
        record has written is encoded for it."""
        tables = {id(table.values): table for table in self._tables.values()}
        for changed, key, _ in self._journal:
            table = tables.get(id(changed))
            if table is not None and (size := table.size(key)) > most:
                return table.prefix + key, size
        return None

    # -- a commit ---------------------------------------------------------------------------------------------------------------------

    def delta(self) -> dict[bytes, bytes | None]:
        """Nothing may be written between this and `store` or `drop`."""
        if self._journal:
            raise RuntimeError("a record is open: keep or undo it before the commit")
        self._pending = {}
        for table in self._tables.values():
            table.write_into(self._pending)
        self.timers.write_into(self._pending)
        return dict(self._pending)

    def store(self, position: int, record: bytes | None = None) -> None:
        """What `delta` gave is committed, and ends at this position of the changelog; so does the host's own record."""
        if self._pending is None:
            raise RuntimeError("only a delta can be stored")
        if record is not None:
            self._pending[LP_KEY] = record
        self._write(self._pending, position, self._wall())
        for table in self._tables.values():
            table.settle()
        self.timers.restart()
        self._committed_times = self.clocks.export()
        self._pending = None

    def drop(self) -> None:
        """Everything since the last `store` never happened, times included."""
        self._journal.clear()
        for table in self._tables.values():
            table.drop()
        self.timers.restart()
        self.clocks.reset(self._committed_times)
        self._pending = None

    # -- a start ----------------------------------------------------------------------------------------------------------------------

    def absorb(
        self,
        entries: Iterable[tuple[bytes, bytes | None]] | Mapping[bytes, bytes | None],
        position: int,
        current: bool = False,
    ) -> None:
        """Records of the changelog, in order, or the last one of each key, up to `position`; `current`: that is its end.

        A copy that was read in part is as old as it was: deletions it has yet to see may be dropped from the changelog meanwhile."""
        if self._pending is not None or self.timers.changes or any(table.values for table in self._tables.values()):
            raise RuntimeError("the changelog is absorbed before records are processed")
        latest = entries if isinstance(entries, dict) else dict(entries)
        record = latest.pop(LP_KEY, None)
        for start in set(map(itemgetter(0), filter(None, latest.values()))):
            check(bytes((start,)))
        if record is not None:
            latest[LP_KEY] = record
        self._write(latest, position, self._wall() if current else self._meta.current_at)
        self._room.empty()
        self.timers.restart()

    def times(self) -> dict[str, Any]:
        """Clock and event times, small and plain, for the host's own record."""
        return self.clocks.export()

    def set_times(self, times: Mapping[str, Any]) -> None:
        """Those of the last commit. What is further on already stays."""
        self.clocks.take_over(times)
        self._committed_times = self.clocks.export()

    # -- upkeep -----------------------------------------------------------------------------------------------------------------------

    def sweep(self, limit: int) -> int:
        """Looks at so many stored entries, going round, and deletes what is expired; how many that were. Call it between records."""
        if self._journal or self._pending is not None:
            raise RuntimeError("expired entries are swept between records")
        looked = removed = 0
        for key, raw in self._backend.scan(b"", after=self._swept):
            self._swept, looked = key, looked + 1
            removed += self._expired(key, raw) and self._remove(key, raw)
            if looked == limit:
                return removed
        self._swept = None
        return removed

    def count(self) -> int:
        """Stored entries: values, entries of maps, timers; also those expired and not swept yet."""
        return self._backend.count() - (self.record is not None)

    def size(self) -> Size:
        """As `count`, with bytes; what was written last may not be in it yet."""
        kept = self._backend.size()
        return Size(max(kept.entries - (self.record is not None), 0), kept.bytes)

    def checksum(self) -> int:
        """Over all stored entries that live, whatever their order. The sum over lps is the same however keys are spread over them."""
        live = ((key, raw) for key, raw in self._backend.scan(b"") if key != LP_KEY and not self._expired(key, raw))
        return sum(_digest(key, raw) for key, raw in live) & _MASK

    def close(self) -> None:
        for table in self._tables.values():
            table.close()
        self._backend.close()

    def _write(self, entries: Mapping[bytes, bytes | None], position: int, current_at: int) -> None:
        meta = replace(self._meta, position=position, current_at=current_at)
        self._backend.write(entries, meta)
        self._meta = meta

    def _expired(self, key: bytes, raw: bytes) -> bool:
        if key == LP_KEY:
            return False
        ends = expiry(raw)
        return ends is not None and self.clocks.over(*ends)

    def _remove(self, key: bytes, raw: bytes) -> bool:
        prefix, nul, rest = key.partition(b"\0")
        removed = self._table(prefix + nul).remove_expired(rest)
        bounds = self._bounds.get(prefix.partition(b"/")[0].decode())
        if removed and bounds is not None:
            bounds.expired(key, raw)
            self.keep()
        return removed


def _digest(key: bytes, raw: bytes) -> int:
    return int.from_bytes(blake2b(len(key).to_bytes(4) + key + raw, digest_size=8).digest())
