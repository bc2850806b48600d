"""State and records under way, in the hands of executors: read from Kafka, written there, and counted.

Entries stay the bytes that they are in the changelog; which logical partition (lp) they belong to is all that is ever changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import count, lit, xxhash64
from pyspark.sql.functions import sum as sum_of
from pyspark.sql.pandas.types import from_arrow_schema

from whorl.errors import Unavailable, WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.partitioner import partition_of
from whorl.kafka.reading import read_as_of_now, read_on
from whorl.savepoints.loss import Loss, takes
from whorl.savepoints.manifest import Tally
from whorl.state.codec import user_key
from whorl.state.partition import LP_KEY
from whorl.tasks.layout import Place

STATE = pa.schema([("lp", pa.int32()), ("key", pa.binary()), ("value", pa.binary())])
_HEADER = pa.struct([("name", pa.string()), ("value", pa.binary())])
RECORDS = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(_HEADER)),
    ]
)
_COUNTED = pa.schema([("entries", pa.int64()), ("checksum", pa.string()), ("unmovable", pa.binary())])
_ROUND = 1 << 64
_ROWS = 10_000


def state_of(session: SparkSession, clients: KafkaClients, topic: str, lps: int) -> DataFrame:
    """What a changelog holds, without the lps' own records."""
    read = partial(_read_state, clients, topic)
    return _numbers(session, lps).mapInArrow(read, from_arrow_schema(STATE))


def records_from(session: SparkSession, clients: KafkaClients, topic: str, starts: Mapping[int, int]) -> DataFrame:
    """The records of a topic behind these offsets, by partition."""
    read = partial(_read_records, clients, topic, sorted(starts.items()))
    return _numbers(session, len(starts)).mapInArrow(read, from_arrow_schema(RECORDS))


def _numbers(session: SparkSession, count: int) -> DataFrame:
    """One for each partition to be read; a task takes several where there are fewer slots, since it costs something to start one."""
    return session.range(0, count, 1, min(count, session.sparkContext.defaultParallelism))


def tally(state: DataFrame) -> Tally:
    """Of what a frame of state holds."""
    return _sum(state.mapInArrow(_tally, from_arrow_schema(_COUNTED)).collect())


def records_tally(records: DataFrame) -> Tally:
    """Of the records of a topic, with all that they are made of."""
    each = xxhash64(*records.columns).cast("decimal(38,0)")
    row: Any = records.agg(count(lit(1)).alias("records"), sum_of(each).alias("checksum")).first()
    return Tally(row.records, str(row.checksum or 0))


def changelog_tally(session: SparkSession, clients: KafkaClients, topic: str, lps: int) -> Tally:
    """Of what a changelog holds. Without DataFrames: what they cost at first is more than all of this."""
    return _sum(_on_lps(session, lps, partial(_tally_lps, clients, topic)))


@dataclass(frozen=True)
class SavedState:
    """In files, as they were written from a changelog of `lps` logical partitions."""

    frame: DataFrame
    lps: int

    def move(self, clients: KafkaClients, topic: str, now: int) -> Tally:
        """Into a changelog of `now` lps; gives what it read."""
        write = partial(_write_batches, clients, topic, self.lps, now)
        return _moved_all(self.frame.mapInArrow(write, from_arrow_schema(_COUNTED)).collect(), self.lps)


@dataclass(frozen=True)
class KeptState:
    """In a changelog."""

    session: SparkSession
    topic: str
    lps: int
    lost: tuple[Loss, ...] = ()
    """What is left behind of it."""

    def move(self, clients: KafkaClients, topic: str, now: int) -> Tally:
        """As that of `SavedState`."""
        write = partial(_write_lps, clients, self.topic, topic, self.lps, now, self.lost)
        return _moved_all(_on_lps(self.session, self.lps, write), self.lps)


def _on_lps(session: SparkSession, lps: int, work: Callable[[Iterable[int]], Iterator[Row]]) -> list[Row]:
    context = session.sparkContext
    rows: list[Row] = (
        context.parallelize(range(lps), min(lps, context.defaultParallelism)).mapPartitions(work).collect()
    )
    return rows


def _moved_all(rows: list[Row], before: int) -> Tally:
    entry = next((row.unmovable for row in rows if row.unmovable is not None), None)
    if entry is not None:
        raise _unmovable(bytes(entry), before)
    return _sum(rows)


def _sum(rows: list[Row]) -> Tally:
    return Tally(sum(row.entries for row in rows), str(sum(int(row.checksum) for row in rows) % _ROUND))


def _unmovable(entry: bytes, before: int) -> WorldError:
    key = user_key(entry)
    if key is None:
        what = "an operator with 'max_keys', 'max_bytes' or 'supersteps' keeps something for each logical partition as a whole"
        return WorldError(what, hint="their number stays; another number of tasks is possible", code="rescale-keys")
    return WorldError(
        f"key {key!r} is not in the logical partition where its hash (murmur2) belongs",
        hint=f"who writes the topic partitions it by other rules: only numbers that divide {before} are possible",
        code="rescale-keys",
    )


# -- on executors ---------------------------------------------------------------------------------------------------------------------


class _Count:
    """Of entries in any order."""

    def __init__(self) -> None:
        self.entries = self.checksum = 0

    def add(self, key: bytes, value: bytes) -> None:
        self.entries += 1
        self.checksum += int.from_bytes(blake2b(b"%d:%b%b" % (len(key), key, value), digest_size=8).digest())

    def row(self, unmovable: bytes | None = None) -> Row:
        return Row(entries=self.entries, checksum=str(self.checksum % _ROUND), unmovable=unmovable)

    def batch(self, unmovable: bytes | None = None) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([self.row(unmovable).asDict()], schema=_COUNTED)


def _entries(clients: KafkaClients, topic: str, lp: int) -> dict[bytes, bytes]:
    """What an lp keeps; its own record is none of it."""
    stored: dict[bytes, bytes] = {}
    for message in read_as_of_now(clients, (topic, lp)):
        key, value = message.key(), message.value()
        if value is None:
            stored.pop(key, None)
        elif key != LP_KEY:
            stored[key] = value
    return stored


def _read_state(clients: KafkaClients, topic: str, lps: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for lp in (lp for some in lps for lp in some.column("id").to_pylist()):
        stored = iter(_entries(clients, topic, lp).items())
        while some := list(islice(stored, _ROWS)):
            keys, values = zip(*some, strict=True)
            columns = [
                pa.array([lp] * len(some), pa.int32()),
                pa.array(keys, pa.binary()),
                pa.array(values, pa.binary()),
            ]
            yield pa.record_batch(columns, schema=STATE)


def _tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    count = _Count()
    for batch in batches:
        for key, value in zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True):
            count.add(key, value)
    yield count.batch()


def _tally_lps(clients: KafkaClients, topic: str, lps: Iterable[int]) -> Iterator[Row]:
    count = _Count()
    for lp in lps:
        for key, value in _entries(clients, topic, lp).items():
            count.add(key, value)
    yield count.row()


def _read_records(
    clients: KafkaClients, topic: str, starts: list[tuple[int, int]], numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number in (number for some in numbers for number in some.column("id").to_pylist()):
        partition, start = starts[number]
        rows = []
        for message in read_on(clients, {(topic, partition): start}):
            headers = [{"name": name, "value": value} for name, value in message.headers() or ()]
            row = (partition, message.offset(), message.timestamp()[1], message.key(), message.value(), headers)
            rows.append(dict(zip(RECORDS.names, row, strict=True)))
            if len(rows) == _ROWS:
                yield pa.RecordBatch.from_pylist(rows, schema=RECORDS)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=RECORDS)


def _write_batches(
    clients: KafkaClients, topic: str, before: int, now: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    entries = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    count, unmovable = _write(clients, topic, before, now, entries)
    yield count.batch(unmovable)


def _write_lps(
    clients: KafkaClients, source: str, topic: str, before: int, now: int, lost: tuple[Loss, ...], lps: Iterable[int]
) -> Iterator[Row]:
    kept = ((lp, key, value) for lp in lps for key, value in _entries(clients, source, lp).items())
    entries = (each for each in kept if not takes(lost, each[1])) if lost else kept
    count, unmovable = _write(clients, topic, before, now, entries)
    yield count.row(unmovable)


def _write(
    clients: KafkaClients, topic: str, before: int, now: int, entries: Iterable[tuple[int, bytes, bytes]]
) -> tuple[_Count, bytes | None]:
    """What was written, and an entry that could not be."""
    writer, count = _Writer(clients), _Count()
    for lp, key, value in entries:
        to = _moved(lp, key, before, now)
        if to is None:
            return count, key
        count.add(key, value)
        writer.write(topic, to, key, value)
    writer.flush()
    return count, None


def _moved(lp: int, key: bytes, before: int, now: int) -> int | None:
    """The lp of an entry among `now`; None where it belongs to its lp and not to a key, or where its key is not where murmur2 puts it, so
    that nobody knows where its records will be."""
    if before == now:
        return lp
    own = user_key(key)
    if own is None or (before % now and partition_of(own, before) != lp):
        return None
    return partition_of(own, now) if before % now else lp % now


class _Writer:
    """To topics that nobody reads yet, so without a transaction."""

    def __init__(self, clients: KafkaClients) -> None:
        self._producer = clients.producer(**{"linger.ms": 5, "queue.buffering.max.messages": 500_000})
        self.written = 0
        self._error = ""

    def write(self, topic: str, partition: int, key: bytes, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, partition, on_delivery=self._delivered)
                break
            except BufferError:
                self._producer.poll(0.1)
        self.written += 1
        if self.written % _ROWS == 0:
            self._producer.poll(0)

    def flush(self) -> None:
        left = self._producer.flush(60)
        if left or self._error:
            raise Unavailable(
                f"the changelog cannot be written: {self._error or 'no answer'}", hint="is its broker up?"
            )

    def _delivered(self, error: Any, message: Any) -> None:
        self._error = self._error or str(error)


def places(topic: str, positions: Mapping[Place, int]) -> dict[int, int]:
    """Partition to offset of one topic."""
    return {partition: at for (name, partition), at in positions.items() if name == topic}
