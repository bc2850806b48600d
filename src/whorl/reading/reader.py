"""What a pipeline keeps by key, read from outside, whether it runs or not: an overview, one key, or all of an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from whorl.kafka.clients import Clients
from whorl.kafka.topics import Cluster
from whorl.reading.entries import Entry
from whorl.reading.latest import Latest, Wanted, latest, now
from whorl.reading.where import Changelog, Stores, changelog_of, stores_of


@dataclass
class Kept:
    """What one operator keeps."""

    component: str
    operator: str
    topic: str
    """Its changelog; of a query, the folder of its checkpoint."""
    lps: int
    states: dict[str, str] = field(default_factory=dict)
    """Name to kind: value, list or map."""
    keys: int = 0
    entries: int = 0
    """Values, entries of maps, timers."""
    timers: int = 0
    size: int = 0
    """Bytes of the entries in the changelog, without what was written before them."""

    def add(self, entry: Entry) -> None:
        self.entries += 1
        self.timers += entry.is_timer
        self.size += entry.size
        if not entry.is_timer:
            kind = "map" if entry.map_key is not None else "list" if isinstance(entry.value, list) else "value"
            if self.states.setdefault(entry.state, kind) != kind:
                self.states[entry.state] = "value"


class StateReader:
    def __init__(self, clients: Clients, stores: Stores, clock: Callable[[], int] = now) -> None:
        self.stores = stores
        self._clients, self._clock = clients, clock

    @classmethod
    def on(cls, cluster: Cluster, pipeline: str) -> StateReader:
        return cls(cluster.clients, stores_of(cluster.clients, cluster.partition_counts(), pipeline))

    def changelog(self, operator: str) -> Changelog:
        return changelog_of(self._clients, self.stores, operator)

    def overview(self) -> list[Kept]:
        """Of all operators that keep anything."""
        return [kept for log in self.stores.changelogs for kept in self._kept(log)]

    def scan(self, operator: str, state: str | None = None, prefix: bytes = b"") -> Iterator[Entry]:
        """One lp after the other; only one is in memory at a time."""
        log = self.changelog(operator)
        for lp in range(log.lps):
            yield from self._latest(log, lp, Wanted(operator, state, prefix=prefix)).entries()

    def get(self, operator: str, key: bytes) -> tuple[Latest, list[Entry]] | None:
        """The lp that has the key, and all that is kept of it; None where there is nothing. Where the key belongs is read first, the other
        lps only if it is not there: somebody may have written its topic by rules of his own."""
        likely = {log: log.likely(key) for log in self.stores.candidates(operator)}
        places = [(log, lp) for log in likely for lp in range(log.lps)]
        for log, lp in sorted(places, key=lambda place: place[1] not in likely[place[0]]):
            found = self._latest(log, lp, Wanted(operator, key=key))
            if entries := list(found.entries()):
                return found, entries
        self.changelog(operator)
        return None

    def _kept(self, log: Changelog) -> Iterator[Kept]:
        lps = (self._latest(log, lp, Wanted()).entries() for lp in range(log.lps))
        return overview_of(Kept(log.component, "", log.topic, log.lps), lps)

    def _latest(self, log: Changelog, lp: int, wanted: Wanted) -> Latest:
        return latest(self._clients, log.topic, lp, wanted, self._clock)


def overview_of(place: Kept, parts: Iterable[Iterator[Entry]]) -> Iterator[Kept]:
    """By operator. `place`: what is the same for all of them; `parts`: entries of one key are in one of these."""
    kept: dict[str, Kept] = {}
    for part in parts:
        keys: dict[str, set[bytes]] = {}
        for entry in part:
            known = kept.setdefault(entry.operator, replace(place, operator=entry.operator, states={}))
            known.add(entry)
            keys.setdefault(entry.operator, set()).add(entry.key)
        for operator, found in keys.items():
            kept[operator].keys += len(found)
    yield from kept.values()
