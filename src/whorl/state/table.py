"""One declared state of one operator in one logical partition: what this transaction wrote, over what was committed before.

The law: a value is as it was put, whoever changed the object since; what a failed record wrote is gone without a trace; what is expired
is not there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from whorl.state.backend import Backend
from whorl.state.codec import FIRST, LARGE, MAP, decode, encode, is_large, map_entry, packer, short, stamped, version_of
from whorl.state.room import Room
from whorl.state.times import Times
from whorl.state.values import ABSENT, GONE, PLAIN, Timed, own

Journal = list[tuple[dict[bytes, Any], bytes, Any]]
"""(dict, key, what it held) of each write since the record began."""

_OVERHEAD = 220
"""Bytes of an entry in memory beside its encoded key and value, more or less."""
_SIMPLE = frozenset({list, dict, int, float, str, bool})


class Table:
    def __init__(
        self, prefix: bytes, backend: Backend, journal: Journal, times: Times, room: Room, event: bool = False
    ) -> None:
        self.prefix = prefix
        self._of_maps = prefix.rstrip(b"\0").endswith(MAP.encode())
        self.values: dict[bytes, Any] = {}
        """What this transaction wrote: values, `Timed` ones, or `GONE`."""
        self.event = event
        """Whether values put from now on end in event time."""
        self.version = 1
        """Of the operator whose it is; what is put from now on is of this one."""
        self.fitting: Callable[[bytes, Any, int], Any] | None = None
        """From a key, what is stored for it, and the version that stored it, to what it is now."""
        self._groups: dict[bytes, set[bytes]] = {}
        self._cache = room.cache()
        self._backend, self._times, self._room = backend, times, room
        self.note = journal.append
        """What a key held, before it is written."""
        self._written = 0
        self._large: list[bytes] = []

    def get(self, key: bytes) -> Any:
        value = self.values.get(key, ABSENT)
        if value is ABSENT:
            value = self.committed(key)
        return value if value.__class__ in PLAIN else self._opened(value)

    def peek(self, key: bytes) -> Any:
        """As `get`, but the table's own object: not to be changed."""
        value = self._lasting(key)
        return value.value if value.__class__ is Timed else None if value is GONE else value

    def get_many(self, keys: Iterable[bytes]) -> list[Any]:
        get = self.get
        return [get(key) for key in keys]

    def holds(self, key: bytes) -> bool:
        return self._lasting(key) is not GONE

    def put(self, key: bytes, value: Any, expires: int | None = None) -> None:
        if value.__class__ not in PLAIN:
            value = own(value)
        if expires is not None:
            value = Timed(value, expires, self.event)
        values = self.values
        self.note((values, key, values.get(key, ABSENT)))
        values[key] = value

    def put_many(self, keys: Sequence[bytes], values: Sequence[Any], expires: int | None = None) -> None:
        put = self.put
        for key, value in zip(keys, values, strict=True):
            put(key, value, expires)

    def put_in(self, group: bytes, key: bytes, value: Any, expires: int | None = None) -> None:
        """As `put`, of a key that begins with `group`: a scan of the group then looks at no others."""
        self._touch(group, key)
        self.put(key, value, expires)

    def append(self, key: bytes, more: list[Any], expires: int | None = None) -> None:
        """To a list; one copy of it instead of two."""
        values, old = self.values, self.peek(key) or []
        joined = [*old, *own(more)]
        self.note((values, key, values.get(key, ABSENT)))
        values[key] = joined if expires is None else Timed(joined, expires, self.event)

    def refresh(self, key: bytes, expires: int) -> None:
        """What is there ends later."""
        value = self._lasting(key)
        if value is not GONE and not (value.__class__ is Timed and value[1:] == (expires, self.event)):
            values, plain = self.values, value.value if value.__class__ is Timed else value
            self.note((values, key, values.get(key, ABSENT)))
            values[key] = Timed(plain, expires, self.event)

    def refresh_in(self, group: bytes, key: bytes, expires: int) -> None:
        self._touch(group, key)
        self.refresh(key, expires)

    def delete(self, key: bytes) -> None:
        values = self.values
        self.note((values, key, values.get(key, ABSENT)))
        values[key] = GONE

    def delete_in(self, group: bytes, key: bytes) -> None:
        self._touch(group, key)
        self.delete(key)

    def ends(self, ttl: int) -> int:
        """When something that lives so many ms from now on ends."""
        return (self._times.base() if self.event else self._times.clock) + ttl

    def scan(self, group: bytes = b"") -> Iterator[tuple[bytes, Any]]:
        """What begins with `group`, in key order. Keys that are new since it began may be missed; nothing else is."""
        for key, raw in self._merged(group):
            value = self.values.get(key, ABSENT)
            if value is ABSENT:
                value = GONE if raw is None else self._read(key, raw)
            if not self._over(value):
                yield key, self._opened(value)

    # -- for the lp -------------------------------------------------------------------------------------------------------------------

    def changed(self) -> Iterator[bytes]:
        """The user's keys of which this transaction changes an entry."""
        for key, value in self.values.items():
            if value is not GONE or self._is_stored(key):
                yield map_entry(key)[0] if self._of_maps else key

    def changed_values(self) -> Iterator[tuple[bytes, Any]]:
        """As `changed`, where it is no table of maps, each with what `peek` gives."""
        peek = self.peek
        for key, value in self.values.items():
            if value.__class__ in PLAIN:
                yield key, value
            elif value is not GONE or self._is_stored(key):
                yield key, peek(key)

    def write_into(self, delta: MutableMapping[bytes, bytes | None]) -> None:
        """The entries that this transaction changes; a key that came and went is left out."""
        self._large = []
        entries = self._entries()
        delta.update(entries)
        raws = map(len, filter(None, entries.values()))
        self._written = sum(map(len, entries)) + sum(raws) + len(self.values) * _OVERHEAD

    def _entries(self) -> Mapping[bytes, bytes | None]:
        """In less time where all that was written is small, lasts, and has the first version."""
        if self.version != 1 or not _SIMPLE.issuperset(map(type, self.values.values())):
            return self._each_entry()
        prefix, pack = self.prefix, packer()
        entries = {prefix + key: FIRST + pack(value) for key, value in self.values.items()}
        return self._each_entry() if max(map(len, entries.values()), default=0) > LARGE else entries

    def _each_entry(self) -> dict[bytes, bytes | None]:
        prefix, version, entries = self.prefix, self.version, dict[bytes, bytes | None]()
        for key, value in self.values.items():
            if value is not GONE:
                raw = encode(value) if version == 1 else stamped(encode(value), version)
                entries[prefix + key] = raw
                if is_large(raw):
                    self._large.append(key)
            elif self._is_stored(key):
                entries[prefix + key] = None
        return entries

    def size(self, key: bytes) -> int:
        """Bytes of the entry that this transaction writes, as it is stored now."""
        value = self.values.get(key, GONE)
        raw = b"" if value is GONE else encode(value)
        return len(self.prefix) + len(key) + len(raw if self.version == 1 else stamped(raw, self.version))

    def settle(self) -> None:
        """What was written is committed. Large values are not cached, so that those in the cache cannot outgrow what was counted."""
        values, cache = self.values, self._cache
        before = len(cache)
        cache.update(values)
        fresh = len(cache) - before
        for key in self._large:
            del cache[key]
        self._room.take(self._written * fresh // (len(values) or 1) + fresh * _OVERHEAD // 4)
        self.drop()

    def drop(self) -> None:
        self.values.clear()
        self._groups.clear()

    def close(self) -> None:
        self._room.forget(self._cache)

    def remove_expired(self, key: bytes) -> bool:
        """Of a key that is expired in the store; not if this transaction put it anew."""
        if key in self.values:
            return False
        self.values[key] = GONE
        return True

    def committed(self, key: bytes) -> Any:
        """The table's own object, or `GONE`; expired or not."""
        value = self._cache.get(key, ABSENT)
        if value is ABSENT:
            raw = self._backend.get(self.prefix + key)
            if raw is None:
                return GONE  # a key that is new is written next, as a rule
            value = self._read(key, raw)
            if not is_large(raw):
                self._room.take(len(key) + _OVERHEAD + len(raw))
                self._cache[key] = value
        return value

    def committed_many(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        """As `committed` of those keys that this transaction has not written; None, or `GONE`, where there is nothing."""
        values, cached, prefix, size = self.values, self._cache.get, self.prefix, 0
        known = {key: cached(key) for key in keys if key not in values}
        unknown = [prefix + key for key, value in known.items() if value is None]
        read, large, cut = {}, [], len(prefix)
        for entry, raw in self._backend.get_many(unknown).items():
            key = entry[cut:]
            read[key] = self._read(key, raw)
            size += len(key) + _OVERHEAD + len(raw)
            if is_large(raw):
                large.append(key)
        self._room.take(size)
        self._cache.update(read)
        for key in large:
            del self._cache[key]
        known.update(read)
        return known

    def _is_stored(self, key: bytes) -> bool:
        return self._backend.get(self.prefix + key) is not None

    # -- within -----------------------------------------------------------------------------------------------------------------------

    def _read(self, key: bytes, raw: bytes) -> Any:
        value, fitting = decode(raw), self.fitting
        if fitting is None:
            return value
        if value.__class__ is not Timed:
            return fitting(key, value, version_of(raw))
        fits = fitting(key, value.value, version_of(raw))
        return GONE if fits is GONE else value._replace(value=fits)

    def _lasting(self, key: bytes) -> Any:
        """As stored, where it is not expired; else `GONE`."""
        value = self.values.get(key, ABSENT)
        if value is ABSENT:
            value = self.committed(key)
        return GONE if self._over(value) else value

    def _over(self, value: Any) -> bool:
        return value is GONE or (value.__class__ is Timed and self._times.over(value.expires, value.event))

    def _opened(self, value: Any) -> Any:
        if value.__class__ is Timed:
            value, expires, event = value
            if expires <= (self._times.watermark if event else self._times.clock):
                return None
        return None if value is GONE else own(value)

    def _touch(self, group: bytes, key: bytes) -> None:
        touched = self._groups.get(group)
        if touched is None:
            self._groups[group] = {key}
        else:
            touched.add(key)

    def _merged(self, group: bytes) -> Iterator[tuple[bytes, bytes | None]]:
        """Keys of overlay and store in order, each once, with what is stored."""
        prefix, cut = self.prefix, len(self.prefix)
        touched = deque(
            sorted((short(prefix + key), key) for key in (self._groups.get(group, ()) if group else self.values))
        )
        for entry, raw in self._backend.scan(prefix + group):
            place = short(entry)
            while touched and touched[0][0] < place:
                yield touched.popleft()[1], None
            if touched and touched[0][0] == place:
                touched.popleft()
            yield entry[cut:], raw
        for _, key in touched:
            yield key, None
