"""Tables kept current: the newest value of every key of a topic, as committed, in one copy that all who ask share.

A copy is read from the topic's start when it is first asked for, and follows the topic from then on. It is given back when nobody has asked
for a while, and when all copies together take too much room: first the one that was asked for longest ago. What is told was true a
moment ago; while the broker does not answer, nothing is told. Nobody notices that a topic is read: no group is joined.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from whorl.errors import Unavailable, WhorlError, WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.following import Follower
from whorl.kafka.reading import reading
from whorl.reading.table import value_of
from whorl.units import format_size

_POLL, _REST = 0.2, 0.02
_LOOK = 2.0
"""Seconds between two looks at whether the topic is still there and the broker answers."""
_PATIENCE = 60.0
"""Seconds in which a topic is read to its end for the first time."""
_BESIDE = 250
"""Bytes that an entry takes beside its key and value."""
LARGEST = 256 << 20
IDLE = 300.0


@dataclass(frozen=True)
class Row:
    key: str
    value: Any
    """JSON is read, anything else is text."""
    partition: int
    offset: int


@dataclass(frozen=True)
class Rows:
    total: int
    rows: tuple[Row, ...]


@dataclass
class LiveTable:
    """One copy. `grown` is called when it has."""

    clients: Clients
    topic: str
    grown: Callable[[], None]
    largest: int = LARGEST
    idle: float = IDLE
    asked: float = field(default_factory=time.monotonic)
    size: int = 0
    _stored: dict[bytes, tuple[bytes, int, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _whole: threading.Event = field(default_factory=threading.Event)
    """It was read to its end once, or cannot be."""
    _over: threading.Event = field(default_factory=threading.Event)
    _wrong: WhorlError | None = None
    _kept_until: float = 0.0
    _trouble: WhorlError | None = None
    """It goes on, but is not current at the moment."""

    def start(self) -> LiveTable:
        threading.Thread(target=self._run, name=f"whorl-table-{self.topic}", daemon=True).start()
        return self

    @property
    def is_over(self) -> bool:
        """Whether the next who asks needs another."""
        return self._over.is_set() and time.monotonic() >= self._kept_until

    def close(self, wrong: WhorlError | None = None, keep: float = 0.0) -> None:
        """`keep`: seconds for which those who ask are told what is wrong, before it is tried again."""
        self._wrong = wrong or Unavailable(f"table '{self.topic}' was put away", hint="ask again", code="consume")
        self._kept_until = time.monotonic() + keep
        self._over.set()
        self._whole.set()
        with self._lock:
            self._stored, self.size = {}, 0

    # -- asked ------------------------------------------------------------------------------------------------------------------------

    def row(self, key: str) -> Row | None:
        self._current()
        with self._lock:
            found = self._stored.get(key.encode())
        return _row(key.encode(), found) if found else None

    def rows(self, limit: int, offset: int = 0, sort: str = "") -> Rows:
        """`sort`: a column of the values, `-column` for the largest first; without it in the order in which keys came first."""
        self._current()
        with self._lock:
            total = len(self._stored)
            stored = list(self._stored.items() if sort else islice(self._stored.items(), offset, offset + limit))
        found = [_row(key, entry) for key, entry in stored]
        return Rows(total, tuple(_sorted(found, sort)[offset : offset + limit] if sort else found))

    def _current(self) -> None:
        self.asked = time.monotonic()
        if not self._whole.wait(_PATIENCE):
            raise Unavailable(
                f"topic '{self.topic}' was not read to its end within {_PATIENCE:g} s", hint="ask again", code="consume"
            )
        if wrong := self._wrong or self._trouble:
            raise wrong

    # -- read -------------------------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with reading(self.topic):
                self._follow()
        except WhorlError as error:
            self.close(error)

    def _follow(self) -> None:
        follower = Follower(self.clients, self.topic)
        try:
            looked = time.monotonic()
            while not self._over.is_set():
                if (messages := follower.read(_POLL)) is not None:
                    self._take(messages, follower.was_at_end)
                    self._refuse_too_large()
                    self.grown()
                else:
                    self._over.wait(_REST)
                if time.monotonic() - looked > _LOOK:
                    looked = time.monotonic()
                    self._look(follower)
        finally:
            follower.close()

    def _look(self, follower: Follower) -> None:
        if time.monotonic() - self.asked > self.idle:
            self.close()
            return
        try:
            now = follower.partitions()
        except Unavailable as error:
            self._trouble = error
            return
        self._trouble = None
        if now != follower.count:
            self.close()  # keys may be in other partitions now: whoever asks next reads it anew

    def _take(self, messages: list[Any], is_whole: bool) -> None:
        with self._lock:
            for message in messages:
                self._put(message)
        if is_whole:
            self._whole.set()

    def _refuse_too_large(self) -> None:
        if self.size > self.largest:
            what = f"topic '{self.topic}' holds more than the {format_size(self.largest)} that a table may take here"
            hint = "read it with 'whorl consume' or read_table, or make it smaller"
            self.close(WorldError(what, hint=hint, code="table-size"), keep=self.idle)

    def _put(self, message: Any) -> None:
        key, value = message.key() or b"", message.value()
        if (old := self._stored.get(key)) is not None:
            self.size -= len(key) + len(old[0]) + _BESIDE
        if value is None:
            self._stored.pop(key, None)
            return
        self._stored[key] = (value, message.partition(), message.offset())
        self.size += len(key) + len(value) + _BESIDE


class LiveTables:
    """The copies that there are, by broker and topic."""

    def __init__(self, largest: int = LARGEST, idle: float = IDLE) -> None:
        """`largest`: bytes of all together."""
        self._largest, self._idle = largest, idle
        self._copies: dict[tuple[str, str], LiveTable] = {}
        self._lock = threading.Lock()

    def of(self, broker: str, clients: Clients, topic: str) -> LiveTable:
        with self._lock:
            found = self._copies.get((broker, topic))
            if found is None or found.is_over:
                made = LiveTable(clients, topic, self._make_room, self._largest, self._idle)
                found = self._copies[broker, topic] = made.start()
            return found

    def close(self) -> None:
        with self._lock:
            for copy in self._copies.values():
                copy.close()

    def _make_room(self) -> None:
        with self._lock:
            self._copies = {name: copy for name, copy in self._copies.items() if not copy.is_over}
            by_use = sorted(self._copies.values(), key=lambda copy: copy.asked)
            excess = sum(copy.size for copy in by_use) - self._largest
            while excess > 0:
                excess -= by_use[0].size
                by_use.pop(0).close()


def _row(key: bytes, entry: tuple[bytes, int, int]) -> Row:
    value, partition, offset = entry
    return Row(key.decode("utf-8", "replace"), value_of(value), partition, offset)


def _sorted(rows: list[Row], sort: str) -> list[Row]:
    """Words behind numbers; what has no such column is last in either order."""
    column = sort.removeprefix("-")
    places = [(_column(row.value, column), row) for row in rows]
    known = sorted(
        ((_place(value), row) for value, row in places if value is not None),
        key=lambda pair: pair[0],
        reverse=sort.startswith("-"),
    )
    return [*(row for _, row in known), *(row for value, row in places if value is None)]


def _column(value: Any, column: str) -> Any:
    return value.get(column) if isinstance(value, dict) else None


def _place(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return not number, value if number else 0.0, "" if number else str(value)
