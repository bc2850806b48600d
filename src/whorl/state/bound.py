"""States in the hands of an operator: each acts on the current key, which the host sets before `process` or `on_timer`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from whorl.state.codec import map_entry, map_group, pack, unpack
from whorl.state.scope import Bound
from whorl.state.table import Table
from whorl.state.values import PLAIN, own

T = TypeVar("T")
K = TypeVar("K")


class View(Generic[T]):
    """One state of all keys of a logical partition. Keys are as Kafka has them: bytes."""

    __slots__ = ("_bound", "delete", "get_raw", "put_raw")

    def __init__(self, bound: BoundValue[T], table: Table) -> None:
        self._bound = bound
        self.get_raw, self.put_raw, self.delete = table.get, table.put, table.delete

    def get(self, key: bytes, default: T | None = None) -> T | None:
        value = self.get_raw(key)
        return default if value is None else self._bound._loaded(value)

    def put(self, key: bytes, value: T) -> None:
        bound = self._bound
        self.put_raw(key, value if value.__class__ is bound._kind else bound._dumped(value))

    def items(self) -> Iterator[tuple[bytes, T]]:
        """In the order of keys."""
        table = self._bound._table
        return ((key, self._bound._loaded(value)) for key, value in table.scan())


class MapView(Generic[K, T]):
    """The maps of all keys of a logical partition, entry by entry. Keys are as Kafka has them: bytes."""

    __slots__ = ("_bound", "_table")

    def __init__(self, bound: BoundMap[K, T], table: Table) -> None:
        self._bound, self._table = bound, table

    def put(self, key: bytes, name: K, value: T) -> None:
        bound, group = self._bound, map_group(key)
        kept = value if value.__class__ is bound._kind else bound._dumped(value)
        self._table.put_in(group, _entry(group, name), kept)

    def delete(self, key: bytes, name: K) -> None:
        group = map_group(key)
        self._table.delete_in(group, _entry(group, name))

    def items(self) -> Iterator[tuple[bytes, K, T]]:
        """Key, name and value of each entry, those of a key together."""
        for entry, value in self._table.scan():
            key, name = map_entry(entry)
            yield key, unpack(name), self._bound._loaded(value)


class BoundValue(Bound, Generic[T]):
    """One value of a key."""

    __slots__ = ()

    def view(self) -> View[T]:
        """All keys of the present logical partition: for a `PartitionProgram`. It is good until another one is entered."""
        return View(self, self._table)

    def get(self, default: T | None = None) -> T | None:
        scope = self._scope
        key = scope.key
        if key is None:
            raise self._outside()
        table = scope.tables[self._at]
        if self._refresh:
            table.refresh(key, table.ends(self._ttl or 0))
        value: T | None = table.get(key)
        if value is None:
            return default
        return value if self._load is None else self._load(value)

    def set(self, value: T) -> None:
        scope = self._scope
        key = scope.key
        if key is None:
            raise self._outside()
        table = scope.tables[self._at]
        kept = value if value.__class__ is self._kind else self._dumped(value)
        table.put(key, kept, None if self._ttl is None else table.ends(self._ttl))

    def get_many(self, keys: Iterable[bytes]) -> list[T | None]:
        """Of these keys, as Kafka has them, instead of the current one; None where there is no value."""
        table, listed = self._places(keys)
        if self._refresh:
            for key in listed:
                table.refresh(key, table.ends(self._ttl or 0))
        return [self._loaded(value) for value in table.get_many(listed)]

    def put_many(self, keys: Iterable[bytes], values: Iterable[T | None]) -> None:
        """As many values as keys; of a key that comes several times the last one stays. None clears."""
        table, listed = self._places(keys)
        ends = self._ends(table)
        for key, value in zip(listed, values, strict=True):
            if value is None:
                table.delete(key)
            else:
                table.put(key, value if value.__class__ is self._kind else self._dumped(value), ends)

    def clear(self) -> None:
        table, key = self._place()
        table.delete(key)

    def update(self, change: Callable[[T | None], T]) -> T:
        """Sets what `change` makes of the value, and returns it."""
        value = change(self.get())
        self.set(value)
        return value


class BoundList(Bound, Generic[T]):
    """A list of a key, kept as one value: good for lists that stay short."""

    __slots__ = ()

    def get(self) -> list[T]:
        table, key = self._place()
        if self._refresh:
            table.refresh(key, table.ends(self._ttl or 0))
        return [self._loaded(each) for each in table.get(key) or ()]

    def append(self, value: T) -> None:
        self.extend((value,))

    def extend(self, values: Iterable[T]) -> None:
        table, key = self._place()
        table.append(key, [self._dumped(value) for value in values], self._ends(table))

    def set(self, values: Iterable[T]) -> None:
        table, key = self._place()
        table.put(key, [self._dumped(value) for value in values], self._ends(table))

    def clear(self) -> None:
        table, key = self._place()
        table.delete(key)

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def __len__(self) -> int:
        table, key = self._place()
        return len(table.peek(key) or ())


class BoundMap(Bound, Generic[K, T]):
    """A map of a key. Every entry is stored by itself, so a large map costs only what is touched of it; each lives its own time.

    Its keys are told apart by type: 1, 1.0 and True are three. Items come in a fixed order, but not the one they were put in."""

    __slots__ = ()

    def view(self) -> MapView[K, T]:
        """All keys of the present logical partition: for a `PartitionProgram`. It is good until another one is entered."""
        return MapView(self, self._table)

    def get(self, key: K, default: T | None = None) -> T | None:
        table, group, entry = self._entry(key)
        if self._refresh:
            self._renew(table, group, entry)
        value = table.get(entry)
        return default if value is None and not table.holds(entry) else self._loaded(value)

    def put(self, key: K, value: T) -> None:
        table, group, entry = self._entry(key)
        kept = value if value.__class__ is self._kind else self._dumped(value)
        table.put_in(group, entry, kept, None if self._ttl is None else table.ends(self._ttl))

    def remove(self, key: K) -> None:
        """Also of a key that is not there."""
        table, group, entry = self._entry(key)
        table.delete_in(group, entry)

    def items(self) -> Iterator[tuple[K, T]]:
        table, group = self._group()
        for entry, value in table.scan(group):
            if self._refresh:
                self._renew(table, group, entry)
            yield unpack(entry[len(group) :]), self._loaded(value)

    def keys(self) -> Iterator[K]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[T]:
        return (value for _, value in self.items())

    def clear(self) -> None:
        table, group = self._group()
        for entry in [entry for entry, _ in table.scan(group)]:
            table.delete_in(group, entry)

    def __getitem__(self, key: K) -> T:
        if key not in self:
            raise KeyError(key)
        return self.get(key)  # type: ignore[return-value]

    def __setitem__(self, key: K, value: T) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        table, _, entry = self._entry(key)
        return table.holds(entry)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def __len__(self) -> int:
        """Counts them: as dear as `items`."""
        table, group = self._group()
        return sum(1 for _ in table.scan(group))

    def _entry(self, key: Any) -> tuple[Table, bytes, bytes]:
        scope = self._scope
        if scope.key is None:
            raise self._outside()
        group = map_group(scope.key)
        return scope.tables[self._at], group, _entry(group, key)

    def _group(self) -> tuple[Table, bytes]:
        table, key = self._place()
        return table, map_group(key)

    def _renew(self, table: Table, group: bytes, entry: bytes) -> None:
        table.refresh_in(group, entry, table.ends(self._ttl or 0))


def _entry(group: bytes, name: Any) -> bytes:
    return group + pack(name if name.__class__ in PLAIN else own(name))
