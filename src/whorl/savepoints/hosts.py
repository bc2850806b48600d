"""From one host to the other: what operators keep is the same bytes on both, so a component that was saved in tasks can go on in a query, and
the other way round.

To a query it goes as the state that Spark's `transformWithState` begins with, where timers are set again; back through the source that
Spark has for the state of queries. What would not come with it all is refused before anything is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from whorl.errors import WorldError
from whorl.kafka.partitioner import partition_of
from whorl.kafka.topics import Place
from whorl.query.checkpoint import Checkpoint, Manifest
from whorl.query.kept import keyed_entries, keyed_operators, other_stores
from whorl.savepoints.frames import STATE, SavedState
from whorl.savepoints.life import FormerComponent
from whorl.state.codec import address
from whorl.tasks.changelog import by_lp, encode_lp
from whorl.tasks.register import ComponentEntry, QueryEntry

_INITIAL = pa.schema(
    [("operator", pa.string()), ("group", pa.binary()), ("entry", pa.binary()), ("value", pa.binary())]
)


@dataclass(frozen=True)
class BegunQuery:
    """A query that goes on from what tasks kept."""

    entry: QueryEntry
    manifest: Manifest
    state: DataFrame
    ledger: Iterable[tuple[str, str]] = ()

    def into(self, checkpoint: Checkpoint, moved: Mapping[Place, int]) -> None:
        self.state.mapInArrow(_as_initial, from_arrow_schema(_INITIAL)).write.parquet(checkpoint.initial_path)
        checkpoint.write(self.manifest)
        checkpoint.move({place: at for place, at in moved.items() if place[0] in self.entry.edges})


def starts_of(
    component: str, topics: Mapping[str, Collection[str]], positions: Mapping[Place, int]
) -> dict[str, dict[str, dict[str, int]]]:
    """Input by input, where tasks had come to."""
    same_topics(component, positions, [name for names in topics.values() for name in names])
    return {input: {name: _of_topic(name, positions) for name in names} for input, names in topics.items()}


def _of_topic(name: str, positions: Mapping[Place, int]) -> dict[str, int]:
    return {str(partition): at for (topic, partition), at in positions.items() if topic == name}


def kept_by_query(
    session: SparkSession, component: str, checkpoint: Checkpoint, entry: ComponentEntry
) -> FormerComponent:
    """A component of tasks that goes on from what a query kept."""
    lps, positions, half = entry.layout.lps, checkpoint.read_up_to(), checkpoint.progress().in_doubt
    if half is not None:
        raise unmoved(component, f"batch {half} is half done")
    same_topics(component, positions, entry.topics)
    if others := other_stores(session, checkpoint):
        raise unmoved(component, f"what Spark keeps for it ({', '.join(others)}) has a form that tasks cannot read")
    if strangers := keyed_operators(session, checkpoint) - set(entry.kept):
        raise unmoved(component, f"it has state of '{min(strangers)}', which is not in it any more")
    own = {lp: encode_lp(places, {}) for lp, places in by_lp(entry.layout, positions).items()}
    entries = keyed_entries(session, checkpoint).mapInArrow(partial(_as_state, lps), from_arrow_schema(STATE))
    return FormerComponent(entry, own, SavedState(entries, lps))


def same_topics(component: str, positions: Iterable[Place], now: Collection[str]) -> None:
    """Where its sources keep no positions, or others are between them and it, nobody knows where it would have to go on."""
    before = {topic for topic, _ in positions}
    if before != set(now):
        change = f"'{min(before ^ set(now))}' is read on one of the two hosts only"
        raise unmoved(component, f"{change}, so that there is no position to go on from")


def unmoved(component: str, why: str) -> WorldError:
    what = f"component '{component}' cannot move to the other host: {why}"
    return WorldError(what, hint="resume it on the host that it was on", code="savepoint")


# -- on executors ---------------------------------------------------------------------------------------------------------------------


def _as_initial(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = []
        for entry, value in zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True):
            whose = address(entry)
            if whose is not None:
                rows.append({"operator": whose.operator, "group": whose.key, "entry": entry, "value": value})
        yield pa.RecordBatch.from_pylist(rows, schema=_INITIAL)


def _as_state(lps: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        lp = [partition_of(bytes(group), lps) for group in batch.column("group").to_pylist()]
        columns = [
            pa.array(lp, pa.int32()),
            batch.column("entry").cast(pa.binary()),
            batch.column("value").cast(pa.binary()),
        ]
        yield pa.record_batch(columns, schema=STATE)
