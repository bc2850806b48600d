"""Messages to logical partitions of the same task, which need no way over Kafka; and those to others, where they are merged first.

The law: what one logical partition sends to another arrives in order. So once messages to a partition were put into its topic, those that
follow take the topic too, until the last of the former has been read back.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from whorl.operators.record import SPILLED
from whorl.sinks.kafka import Entry
from whorl.tasks.combining import Combiner, Merged
from whorl.tasks.layout import Place
from whorl.tasks.returned import IN_MEMORY, Returned
from whorl.tasks.signals import Orders


class Inbox:
    def __init__(self, own: Collection[Place], orders: Orders, combiners: Mapping[str, Combiner]) -> None:
        """`own`: the partitions by which messages come back to this task. What lies there of an earlier run is read first.
        `combiners`: by topic."""
        self._own, self._orders, self._combiners = frozenset(own), orders, combiners
        self._waiting: dict[Place, Merged] = {}
        self._leaving: dict[Place, Merged] = {}
        """What is merged before it leaves."""
        self._closed: dict[Place, bytes | None] = dict.fromkeys(own)
        """What was put last into a partition and has not come back; None: whatever was there at the start."""
        self._mark, self._count = uuid.uuid4().hex[:12], 0
        self.sent = 0
        """All that was taken or is to be sent, merged ones once."""

    # -- in ---------------------------------------------------------------------------------------------------------------------------

    def take(self, entry: Entry) -> bool:
        """Whether it stays here, to be processed or to be merged with others; if not, it is to be sent."""
        place = (entry[0], entry[3])
        stays = place in self._own and place not in self._closed and (*place, IN_MEMORY) not in self._orders.skip
        if not stays and entry[0] not in self._combiners:
            self.sent += 1
            return False
        into = self._waiting if stays else self._leaving
        if place not in into:
            into[place] = Merged(self._combiners.get(entry[0]))
        self.sent += into[place].add(entry)
        return True

    def put_back(self, place: Place, messages: Iterable[Returned]) -> None:
        """Before what has come meanwhile."""
        entries = [message.entry for message in messages]
        if entries:
            self._waiting.setdefault(place, Merged(self._combiners.get(place[0]))).put_back(entries)

    # -- out --------------------------------------------------------------------------------------------------------------------------

    def next(self) -> tuple[Place, list[Returned]] | None:
        """All that waits for one partition."""
        place = next(iter(self._waiting), None)
        return None if place is None else (place, [Returned(entry) for entry in self._waiting.pop(place).take()])

    @property
    def is_to_send(self) -> bool:
        """Whether something waits for a commit to leave."""
        return bool(self._leaving)

    def spilled(self) -> list[Entry]:
        """All that waits, for the topics; nothing waits then."""
        waiting, leaving = self._waiting, self._leaving
        self._waiting, self._leaving = {}, {}
        return [entry for merged in (*leaving.values(), *waiting.values()) for entry in self.sealed(merged.take())]

    def merged(self, entries: Iterable[Entry]) -> list[Entry]:
        """These alone, those to one key as one."""
        by_place: dict[Place, Merged] = {}
        for entry in entries:
            place = (entry[0], entry[3])
            if place not in by_place:
                by_place[place] = Merged(self._combiners.get(entry[0]))
            by_place[place].add(entry)
        return [entry for merged in by_place.values() for entry in merged.take()]

    def spilled_of(self, place: Place, first: Iterable[Returned]) -> list[Entry]:
        """As `spilled`, of what waits for one partition, behind `first`."""
        waiting = self._waiting.pop(place).take() if place in self._waiting else []
        return self.sealed([*(message.entry for message in first), *waiting])

    def sealed(self, entries: list[Entry]) -> list[Entry]:
        """These, as they leave: of what this task will read itself, the last one has a mark."""
        sealed, seen = [], set[Place]()
        for entry in reversed(entries):
            place = (entry[0], entry[3])
            sealed.append(self._last(place, entry) if place in self._own and place not in seen else entry)
            seen.add(place)
        return sealed[::-1]

    def _last(self, place: Place, entry: Entry) -> Entry:
        """Of all that was put into a partition: when it has been read back, so has all before it."""
        self._count += 1
        mark = self._closed[place] = f"{self._mark}.{self._count}".encode()
        return (*entry[:7], [*(entry[7] or ()), (SPILLED, mark)])

    # -- what comes back --------------------------------------------------------------------------------------------------------------

    def hold(self, place: Place) -> None:
        """What has come from the partition waits: nothing may overtake it."""
        if place in self._own:
            self._closed.setdefault(place, None)

    def read_back(self, place: Place, messages: Iterable[Any]) -> None:
        """These have come from the topic."""
        mark = self._closed.get(place)
        if mark is not None and any((SPILLED, mark) in (message.headers() or ()) for message in messages):
            del self._closed[place]

    def reached(self, place: Place) -> None:
        """The end of the partition."""
        if place in self._closed and self._closed[place] is None:
            del self._closed[place]
