"""What components keep in queries: Spark reads their checkpoints. Entries of operators with state by key are decoded as those of tasks; of
all else keys and values are JSON objects of Spark's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import orjson
from pyarrow import RecordBatch
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from whorl.query.checkpoint import Checkpoint
from whorl.query.kept import checkpoint_frame, keeps_keyed, keeps_nothing, keyed_entries, last_batch
from whorl.reading.arrow import SCHEMA, batches
from whorl.reading.entries import Entry, entry_of
from whorl.reading.latest import Wanted, now
from whorl.reading.reader import Kept, overview_of
from whorl.reading.where import Stores
from whorl.state.codec import address, expiry
from whorl.state.times import Times

_INPUT = "query"


@dataclass(frozen=True)
class QueryReader:
    """Of one pipeline. `checkpoints`: the folder of them."""

    spark: SparkSession
    stores: Stores
    checkpoints: str

    def frame(self, operator: str) -> DataFrame:
        """As `whorl.read_state` gives it."""
        component = self.stores.query_of(operator)
        checkpoint = self._checkpoint(component)
        rows = checkpoint_frame(self.spark, checkpoint, component)
        if rows is None and not keeps_keyed(self.spark, checkpoint):
            raise keeps_nothing(component)
        decode = partial(_frames, _Decoding.of(checkpoint, component, Wanted(self._only(operator))))
        keyed = keyed_entries(self.spark, checkpoint).mapInArrow(decode, from_arrow_schema(SCHEMA))
        return keyed if rows is None else rows.unionByName(keyed)

    def overview(self) -> list[Kept]:
        """Of all queries that keep anything."""
        found: list[Kept] = []
        for component in self.stores.queries:
            checkpoint = self._checkpoint(component)
            partitions = sum(map(str.isdecimal, checkpoint.folder.names("state/0")))
            if checkpoint.progress().committed >= 0 and partitions:
                place = Kept(component, "", checkpoint.path, partitions)
                found += overview_of(place, [self._entries(component, Wanted())])
        return found

    def scan(self, operator: str, state: str | None = None, prefix: bytes = b"") -> Iterator[Entry]:
        component = self.stores.query_of(operator)
        return self._entries(component, Wanted(self._only(operator), state, prefix=prefix))

    def get(self, operator: str, key: bytes) -> list[Entry]:
        component = self.stores.query_of(operator)
        return list(self._entries(component, Wanted(self._only(operator), key=key)))

    def _only(self, operator: str) -> str | None:
        """A component that is called after another operator stands for all that it keeps."""
        return operator if operator in self.stores.keyed else None

    def _checkpoint(self, component: str) -> Checkpoint:
        return Checkpoint.of(self.spark, self.checkpoints, self.stores.pipeline, self.stores.uid, component)

    def _entries(self, component: str, wanted: Wanted) -> Iterator[Entry]:
        checkpoint = self._checkpoint(component)
        decoding = _Decoding.of(checkpoint, component, wanted)
        for row in keyed_entries(self.spark, checkpoint).sort("partition", "group", "entry").toLocalIterator():
            yield from decoding.entry(bytes(row.entry), bytes(row.value), row.partition)
        rows = checkpoint_frame(self.spark, checkpoint, component)
        for row in rows.toLocalIterator() if rows is not None else ():
            yield from decoding.row(row)


@dataclass(frozen=True)
class _Decoding:
    """Of one component, for one reader."""

    batch: int
    wanted: Wanted
    times: Times

    @classmethod
    def of(cls, checkpoint: Checkpoint, component: str, wanted: Wanted) -> _Decoding:
        """Values that end in processing time are held against the clock, those of event time against the query's watermark."""
        times = Times([_INPUT])
        times.tick(now())
        if watermark := checkpoint.watermark():
            times.move(_INPUT, watermark)
        return cls(last_batch(checkpoint, component), wanted, times)

    def entry(self, key: bytes, value: bytes, partition: int) -> Iterator[Entry]:
        ends, whose = expiry(value), address(key)
        if whose is not None and self.wanted.takes(key) and (ends is None or not self.times.over(*ends)):
            yield entry_of(whose, (key, value), partition, self.batch)

    def row(self, row: Row) -> Iterator[Entry]:
        """One of Spark's own; its key is JSON."""
        key, wanted = bytes(row.key_bytes), self.wanted
        fits = wanted.state in (None, row.state) and wanted.key in (None, key) and key.startswith(wanted.prefix)
        if fits and wanted.operator in (None, row.operator):
            size = len(key) + len(row.value)
            place = (row.logical_partition, row.position)
            yield Entry(row.operator, row.state, key, None, orjson.loads(row.value), None, *place, size)


def _frames(decoding: _Decoding, rows: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    for some in rows:
        entries = zip(*(some.column(name).to_pylist() for name in ("entry", "value", "partition")), strict=True)
        yield from batches(each for entry in entries for each in decoding.entry(*entry))
