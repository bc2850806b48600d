"""The state of one logical partition (lp), read from its changelog as it was committed: of each key what was written last.

It is read as far as it is committed when reading begins, which is behind a whole commit. Nobody notices: no group is joined, nothing is
written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from whorl.kafka.clients import Clients
from whorl.kafka.reading import read_as_of_now, reading
from whorl.reading.entries import Entry, entry_of
from whorl.state.codec import address, expiry
from whorl.state.partition import LP_KEY
from whorl.state.times import Times
from whorl.tasks.changelog import decode_lp
from whorl.tasks.layout import Place


@dataclass(frozen=True)
class Wanted:
    """Which entries; what is None may be any."""

    operator: str | None = None
    state: str | None = None
    key: bytes | None = None
    prefix: bytes = b""
    """Of the user's key."""

    def takes(self, entry: bytes) -> bool:
        found = address(entry)
        return (
            found is not None
            and self.operator in (None, found.operator)
            and self.state in (None, found.state)
            and self.key in (None, found.key)
            and found.key.startswith(self.prefix)
        )


def now() -> int:
    """ms since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Latest:
    """What an lp held when it was read."""

    lp: int
    positions: Mapping[Place, int]
    """Of its sources: all that lies before them is in the state, and nothing else."""
    stored: Mapping[bytes, tuple[bytes, int]]
    """Key to value and offset, as the changelog has them."""
    times: Times

    def entries(self) -> Iterator[Entry]:
        """Those that are not expired, in the order of their keys."""
        for key in sorted(self.stored):
            value, position = self.stored[key]
            ends = expiry(value)
            found = address(key)
            if found is not None and (ends is None or not self.times.over(*ends)):
                yield entry_of(found, (key, value), self.lp, position)


def latest(clients: Clients, topic: str, lp: int, wanted: Wanted, clock: Callable[[], int] = now) -> Latest:
    """Values that end in processing time are held against the clock, those of event time against the lp's own watermark."""
    stored: dict[bytes, tuple[bytes, int]] = {}
    own: bytes | None = None
    with reading(topic):
        for message in read_as_of_now(clients, (topic, lp)):
            key, value = message.key(), message.value()
            if key == LP_KEY:
                own = value
            elif value is None:
                stored.pop(key, None)
            elif wanted.takes(key):
                stored[key] = (value, message.offset())
    positions, exported = decode_lp(own) if own else ({}, {})
    times = Times()
    if exported:
        times.take_over(exported)
    times.tick(clock())
    return Latest(lp, positions, stored, times)
