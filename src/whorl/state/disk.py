"""State on disk: an LMDB environment in a folder that one process owns.

Entries and the position they stand for are in one transaction. Without `durable` nothing is synced: a process that dies loses nothing, a
machine that dies may ruin the copy, which is why a copy from before a restart of the machine is not used. The map is never written
through memory (a full disk would be a SIGBUS), so a write that fails leaves what was there before, and the position of that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import lmdb

from whorl.errors import Superseded, WorldError
from whorl.state.backend import Entry, Meta, Size, scan_in_chunks
from whorl.state.codec import LONGEST_KEY, short

_META = b"\0meta"
"""No entry begins with NUL, so it is the first of all."""
_LITTLE = 16 << 20
"""Bytes: a disk with less than this is called full."""
_PIECE = 8192
"""Entries of one transaction: of scattered keys each is on a page of its own, and these take 32 MB."""


class Occupied(WorldError):
    """Another attempt owns the folder; take another one."""

    code = "occupied"


class Unreadable(WorldError):
    """What lies in the folder is no copy, or is ruined."""

    code = "state-copy"


_RUINED = (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError, lmdb.PageNotFoundError)


class LmdbBackend:
    def __init__(self, folder: Path, map_size: int = 1 << 30, durable: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock = _locked(folder)
        self._open(map_size, durable)

    def _open(self, map_size: int, durable: bool) -> None:
        try:
            self._env = lmdb.open(
                str(self.folder), map_size=map_size, sync=durable, metasync=durable, writemap=False, max_spare_txns=2
            )
            self._reading = self._env.begin()
            self._meta = self._read_meta(self._reading)
        except lmdb.Error as error:
            self._lock.close()
            hint = "delete the folder; it is rebuilt from the changelog"
            message = f"the local state in '{self.folder}' cannot be opened: {error}"
            kind = Unreadable if isinstance(error, _RUINED) else WorldError
            raise kind(message, hint=hint, code="state-copy") from error

    @property
    def meta(self) -> Meta | None:
        return self._meta

    def get(self, key: bytes) -> bytes | None:
        if len(key) < LONGEST_KEY:
            found: bytes | None = self._reading.get(key)
            return found
        raw = self._reading.get(short(key))
        return None if raw is None else _entry(short(key), raw)[1]

    def get_many(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        get = self.get if max(map(len, keys), default=0) >= LONGEST_KEY else self._reading.get
        return {key: raw for key in keys if (raw := get(key)) is not None}

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[Entry]:
        return scan_in_chunks(self._chunk, prefix, after)

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        while True:
            self._reading.abort()
            try:
                self._write_all(puts, meta)
                return
            except lmdb.MapFullError:
                self._env.set_mapsize(self._env.info()["map_size"] * 2)
            except lmdb.Error as error:
                raise self._unwritten(error) from error
            finally:
                self._reading = self._env.begin()

    def _write_all(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        """In pieces, since a page that is touched is in memory until its transaction ends. Only the last has the new position: a copy that
        ends between two holds more than it says, and what is read again changes nothing."""
        deleted = [key for key, value in puts.items() if value is None]
        entries = _in_order(puts, deleted)
        last = max(len(entries) - 1, 0) // _PIECE * _PIECE
        before = self._meta or replace(meta, position=0)
        for start in range(0, last, _PIECE):
            self._write_once(entries[start : start + _PIECE], (), before)
        self._write_once(entries[last:], deleted, meta)

    def _write_once(self, entries: list[Entry], deleted: Iterable[bytes], meta: Meta) -> None:
        with self._env.begin(write=True) as writing:
            stored = self._read_meta(writing)
            if stored != self._meta:
                raise Superseded(f"the local state in '{self.folder}' was written by another: {stored}")
            for key in deleted:
                writing.delete(short(key))
            writing.cursor().putmulti(entries)
            writing.put(_META, meta.encode())
        self._meta = meta

    def count(self) -> int:
        entries: int = self._reading.stat(self._env.open_db(txn=self._reading))["entries"]
        return entries - (self._meta is not None)

    def size(self) -> Size:
        stat = self._env.stat()
        pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
        return Size(stat["entries"] - (self._meta is not None), pages * stat["psize"])

    def close(self) -> None:
        self._let_go()
        self._lock.close()

    def discard(self) -> None:
        """Closes and removes it; only then may another have the folder."""
        self._let_go()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def _let_go(self) -> None:
        self._reading.abort()
        self._env.close()

    def _unwritten(self, error: Exception) -> WorldError:
        full = shutil.disk_usage(self.folder).free < _LITTLE
        return WorldError(
            f"the state in '{self.folder}' cannot be written: {'the disk is full' if full else error}",
            hint="make room on the disk; what was committed is in the changelog, nothing is lost",
            code="state-disk",
        )

    @staticmethod
    def _read_meta(transaction: Any) -> Meta | None:
        raw = transaction.get(_META)
        return None if raw is None else Meta.decode(raw)

    def _chunk(self, start: bytes, behind: bool, size: int) -> list[Entry]:
        at, entries = short(start or b"\1"), []
        with self._reading.cursor() as cursor:
            found = cursor.set_range(at)
            if found and behind and cursor.key() == at:
                found = cursor.next()
            if found:
                for key, raw in cursor:
                    entries.append(_entry(key, raw))
                    if len(entries) == size:
                        break
        return entries


def remove(folder: Path) -> None:
    """A copy that is not needed any more, unless somebody works in it."""
    with suppress(Occupied, FileNotFoundError):  # two may tidy up at the same time
        lock = _locked(folder)
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def _in_order(puts: Mapping[bytes, bytes | None], deleted: Collection[bytes]) -> list[Entry]:
    """As they are stored, neighbours together. Sorting keys alone is several times as fast as sorting pairs."""
    ordered = sorted(puts.keys() - deleted if deleted else puts)
    entries: list[Any] = list(zip(ordered, map(puts.__getitem__, ordered), strict=True))
    if max(map(len, ordered), default=0) >= LONGEST_KEY:
        entries = [_stored(*entry) for entry in entries]
    return entries


def _stored(key: bytes, value: bytes) -> Entry:
    """Of a key that is too long, the whole of it goes before the value."""
    return (key, value) if len(key) < LONGEST_KEY else (short(key), len(key).to_bytes(4) + key + value)


def _entry(stored: bytes, raw: bytes) -> Entry:
    """Of a key that was too long, the whole of it lies before the value."""
    if len(stored) < LONGEST_KEY:
        return stored, raw
    end = 4 + int.from_bytes(raw[:4])
    return raw[4:end], raw[end:]


def _locked(folder: Path) -> IO[str]:
    path = folder / "owner"
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            raise OSError("the folder was removed, and made anew by another")
    except OSError:
        file.close()
        raise Occupied(f"another process works in '{folder}'") from None
    return file
