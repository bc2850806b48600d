"""From one host to the other: what operators keep is the same bytes on both, so a component that was saved in tasks can go on in a query, and
the other way round.

To a query it goes as the state that Spark's `transformWithState` begins with, where timers are set again; back through the source that
Spark has for the state of queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from whorl.errors import WorldError
from whorl.kafka.partitioner import partition_of
from whorl.kafka.topics import Place
from whorl.query.checkpoint import Checkpoint, Manifest
from whorl.query.kept import keyed_entries
from whorl.savepoints.frames import STATE, SavedState
from whorl.savepoints.life import FormerComponent
from whorl.state.codec import address
from whorl.tasks.changelog import by_lp, encode_lp
from whorl.tasks.register import ComponentEntry, QueryEntry

_INITIAL = pa.schema(
    [("operator", pa.string()), ("group", pa.binary()), ("entry", pa.binary()), ("value", pa.binary())]
)
_HINT = "take the savepoint and resume it on the host that it was on"


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
    component: str, topics: Mapping[str, Iterable[str]], positions: Mapping[Place, int]
) -> dict[str, dict[str, dict[str, int]]]:
    """Input by input, where tasks had come to."""
    starts: dict[str, dict[str, dict[str, int]]] = {}
    for input, names in topics.items():
        for name in names:
            of = {str(partition): at for (topic, partition), at in positions.items() if topic == name}
            if not of:
                raise _elsewhere(component, name)
            starts.setdefault(input, {})[name] = of
    return starts


def kept_by_query(
    session: SparkSession, component: str, checkpoint: Checkpoint, entry: ComponentEntry
) -> FormerComponent:
    """A component of tasks that goes on from what a query kept."""
    lps, positions = entry.layout.lps, checkpoint.read_up_to(entry.topics)
    if missing := [topic for topic in entry.topics if not any(place[0] == topic for place in positions)]:
        raise _elsewhere(component, missing[0])
    own = {lp: encode_lp(places, {}) for lp, places in by_lp(entry.layout, positions).items()}
    entries = keyed_entries(session, checkpoint).mapInArrow(partial(_as_state, lps), from_arrow_schema(STATE))
    return FormerComponent(entry, own, SavedState(entries, lps))


def _elsewhere(component: str, topic: str) -> WorldError:
    what = f"component '{component}' cannot change its host: it would read '{topic}', where it has no position"
    return WorldError(what, hint=_HINT, code="savepoint")


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
