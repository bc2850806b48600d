"""A new life of a pipeline: its state in new topics, under a new uid, from a savepoint or from the life before, perhaps in another number
of logical partitions (lps).

    1 fence    nobody works in the old life (`Driver.fence`)
    2 fill     new changelogs and checkpoints, which nobody knows yet
    3 verify   they hold as many entries as before, with the same checksum
    4 adopt    positions, records between components and the register, in one transaction: now the new life is the pipeline's
    5 forget   the old topics and folders

What fails before the fourth step leaves the old life as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any, Protocol

from pyspark.sql import SparkSession

from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster, Place
from whorl.kafka.transactions import Transactions
from whorl.plan import naming
from whorl.query.checkpoint import Checkpoint
from whorl.query.ledger import WRITTEN, wanted_ledger
from whorl.savepoints.frames import KeptState, SavedState, changelog_tally
from whorl.savepoints.manifest import Tally
from whorl.savepoints.repartition import repartition
from whorl.spark.folder import Folder
from whorl.state.partition import LP_KEY
from whorl.tasks.changelog import by_lp, decode_lp, encode_lp, positions_in, wanted_changelog
from whorl.tasks.driver import Driver, mirror
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration


@dataclass(frozen=True)
class FormerComponent:
    entry: ComponentEntry
    own: Mapping[int, bytes]
    """By lp: its own record, with positions and times."""
    state: KeptState | SavedState
    saved: Tally | None = None
    """What it must come to, if that is known."""


@dataclass(frozen=True)
class FormerQuery:
    entry: QueryEntry
    folder: Folder
    """Its checkpoint."""
    ledger: Iterable[tuple[str, str]]

    def into(self, checkpoint: Checkpoint, moved: Mapping[Place, int]) -> None:
        self.folder.copy_to(checkpoint.folder)
        checkpoint.move({place: at for place, at in moved.items() if place[0] in self.entry.edges})


class AnyQuery(Protocol):
    """What a query goes on from."""

    @property
    def entry(self) -> QueryEntry: ...
    @property
    def ledger(self) -> Iterable[tuple[str, str]]: ...
    def into(self, checkpoint: Checkpoint, moved: Mapping[Place, int]) -> None: ...


@dataclass(frozen=True)
class Former:
    """What the new life begins with."""

    told: Registration
    """What the register said of it."""
    components: Mapping[str, FormerComponent]
    queries: Mapping[str, AnyQuery] = field(default_factory=dict)
    moved: Mapping[Place, int] = field(default_factory=dict)
    """Where topics between components are read from now, if not as before."""
    append: Callable[[Transactions], None] = lambda transactions: None
    """Writes records between components anew."""


class NewLife:
    def __init__(
        self, session: SparkSession, cluster: Cluster, driver: Driver, checkpoints: str, replication: int
    ) -> None:
        self._session, self._cluster, self._driver = session, cluster, driver
        self._clients: KafkaClients = cluster.clients
        self._checkpoints, self._replication = checkpoints, replication
        self._old = driver.registration
        self._new = Registration.new(driver.registration.pipeline)

    def begin(self, former: Former, lps: Mapping[str, int]) -> dict[str, Tally]:
        """Gives what components keep. `lps`: of those that get another number of them; of queries, the partitions of their state."""
        layouts = {id: self._layout(one.entry, lps.get(id)) for id, one in former.components.items()}
        entries = {id: replace(one.entry, layout=layouts[id], open=()) for id, one in former.components.items()}
        queries = {id: one.entry for id, one in former.queries.items()}
        registration = replace(former.told, uid=self._new.uid, components=entries, queries=queries)
        try:
            kept = {id: self._fill(id, one, layouts[id].lps) for id, one in former.components.items()}
            for id, query in former.queries.items():
                self._copy(id, query, former.moved, lps.get(id))
            self._driver.adopt(registration, lambda transactions: self._write(former, layouts, transactions))
        except BaseException:
            with suppress(Exception):  # the reason is the one above
                self._forget(self._new)
            raise
        self._forget(self._old)
        return kept

    def _layout(self, entry: ComponentEntry, lps: int | None) -> Layout:
        wanted = lps or entry.layout.lps
        return Layout(1, min(entry.layout.tasks, wanted), wanted)

    # -- 2 and 3 ----------------------------------------------------------------------------------------------------------------------

    def _fill(self, id: str, component: FormerComponent, lps: int) -> Tally:
        topic = naming.changelog_topic(self._new.pipeline, self._new.uid, id)
        self._cluster.create([wanted_changelog(topic, lps, bool(component.entry.kept))], self._replication)
        moved = component.state.move(self._clients, topic, lps)
        found = changelog_tally(self._session, self._clients, topic, lps)
        for before, now in ((component.saved or moved, moved), (moved, found)):
            if before != now:
                what = f"state of '{id}' was {before.entries} entries and came to {now.entries}, or to others"
                hint = "nothing was changed; try again, and look at the broker's log and at the files"
                raise WorldError(what, hint=hint, code="verify")
        return found

    def _copy(self, id: str, query: AnyQuery, moved: Mapping[Place, int], partitions: int | None) -> None:
        checkpoint = Checkpoint.of(self._session, self._checkpoints, self._new.pipeline, self._new.uid, id)
        query.into(checkpoint, moved)
        manifest = checkpoint.manifest()
        assert manifest is not None
        checkpoint.write(replace(manifest, uid=self._new.uid))
        if partitions is not None:
            repartition(self._session, checkpoint, id, partitions)
        topic = naming.ledger_topic(self._new.pipeline, self._new.uid, id)
        self._cluster.create([wanted_ledger(topic)], self._replication)

    # -- 4 ----------------------------------------------------------------------------------------------------------------------------

    def _write(self, former: Former, layouts: Mapping[str, Layout], transactions: Transactions) -> None:
        former.append(transactions)
        for id, component in former.components.items():
            topic = naming.changelog_topic(self._new.pipeline, self._new.uid, id)
            positions = positions_in(component.own)
            times = times_in(component.own, component.entry.layout.lps, layouts[id].lps)
            positions = {place: former.moved.get(place, at) for place, at in positions.items()}
            for lp, own in by_lp(layouts[id], positions).items():
                transactions.produce(topic, encode_lp(own, times[lp]), LP_KEY, lp)
            group = component.entry.group or naming.group(self._new.pipeline, id)
            mirror(self._clients, group, positions, transactions)
        for id, query in former.queries.items():
            topic = naming.ledger_topic(self._new.pipeline, self._new.uid, id)
            for writer, record in query.ledger:
                transactions.produce(topic, record.encode(), writer.encode(), WRITTEN)

    # -- 5 ----------------------------------------------------------------------------------------------------------------------------

    def _forget(self, life: Registration) -> None:
        start = f"whorl.{naming.slug(life.pipeline)}.{life.uid}."
        topics = [topic for topic in self._cluster.partition_counts() if topic.startswith(start)]
        if topics:
            self._cluster.delete(topics)
        Folder(self._session, Checkpoint.root(self._checkpoints, life.pipeline, life.uid), "checkpoints").delete()


def times_in(own: Mapping[int, bytes], before: int, now: int) -> dict[int, dict[str, Any]]:
    """Of each of `now` lps, from those of `before` whose keys it takes; that are the ones equal to it by their highest common factor."""
    common = gcd(before, now)
    times = {lp: decode_lp(own[lp])[1] if lp in own else {} for lp in range(before)}
    return {new: slowest([at for old, at in times.items() if old % common == new % common]) for new in range(now)}


def slowest(times: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Event time as it is where it is least far: what is not yet over for some key is not yet over. The clock is that of all."""
    told = [each for each in times if each]
    if not told:
        return {}
    watermarks = [each["watermark"] for each in told]
    known = len(told) == len(times) and None not in watermarks
    inputs = set(told[0]["inputs"]).intersection(*(each["inputs"] for each in told)) if len(told) == len(times) else ()
    return {
        "clock": max(each["clock"] for each in told),
        "watermark": min(watermarks) if known else None,
        "inputs": {input: min(each["inputs"][input] for each in told) for input in inputs},
    }
