"""State and records under way as DataFrames: executors read them from Kafka, and write them there.

Entries stay the bytes that they are in the changelog; which logical partition (lp) they belong to is all that is ever changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from whorl.errors import Unavailable, WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.partitioner import partition_of
from whorl.kafka.reading import read_as_of_now, read_on
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
_WRITTEN = pa.schema([("written", pa.int64()), ("unmovable", pa.binary())])
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
    each = f.xxhash64("key", "value").cast("decimal(38,0)")
    row: Any = state.agg(f.count(f.lit(1)).alias("entries"), f.sum(each).alias("sum")).first()
    return Tally(row.entries, str(row.sum or 0))


def write_state(state: DataFrame, clients: KafkaClients, topic: str, before: int, now: int) -> None:
    """Into a changelog of `now` lps, of entries that were in `before`."""
    write = partial(_write_state, clients, topic, before, now)
    for row in state.mapInArrow(write, from_arrow_schema(_WRITTEN)).collect():
        if row.unmovable is not None:
            raise _unmovable(bytes(row.unmovable), before)


def _unmovable(entry: bytes, before: int) -> WorldError:
    key = user_key(entry)
    if key is None:
        what = "an operator with 'max_keys' or 'max_bytes' has the order of its writes in each logical partition"
        return WorldError(what, hint="their number stays; another number of tasks is possible", code="rescale-keys")
    return WorldError(
        f"key {key!r} is not in the logical partition where its hash (murmur2) belongs",
        hint=f"who writes the topic partitions it by other rules: only numbers that divide {before} are possible",
        code="rescale-keys",
    )


# -- on executors ---------------------------------------------------------------------------------------------------------------------


def _read_state(clients: KafkaClients, topic: str, lps: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for lp in (lp for some in lps for lp in some.column("id").to_pylist()):
        stored: dict[bytes, bytes] = {}
        for message in read_as_of_now(clients, (topic, lp)):
            key, value = message.key(), message.value()
            if value is None:
                stored.pop(key, None)
            elif key != LP_KEY:
                stored[key] = value
        keys = list(stored)
        for start in range(0, len(keys), _ROWS):
            some_keys = keys[start : start + _ROWS]
            columns = [[lp] * len(some_keys), some_keys, [stored[key] for key in some_keys]]
            yield pa.record_batch([pa.array(c, t.type) for c, t in zip(columns, STATE, strict=True)], schema=STATE)


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


def _write_state(
    clients: KafkaClients, topic: str, before: int, now: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    writer = _Writer(clients)
    for batch in batches:
        for lp, key, value in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            to = _moved(lp, key, before, now)
            if to is None:
                yield pa.RecordBatch.from_pylist([{"written": 0, "unmovable": key}], schema=_WRITTEN)
                return
            writer.write(topic, to, key, value)
    writer.flush()
    yield pa.RecordBatch.from_pylist([{"written": writer.written, "unmovable": None}], schema=_WRITTEN)


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
