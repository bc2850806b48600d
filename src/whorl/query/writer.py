"""The task's half of exactly once into Kafka: one partition of a batch, from Arrow to a committed transaction.

5 doubt     an attempt after the first does not know what the one before it did: it writes nothing and says so. The driver starts
            over at step 1, which fences the earlier attempt and tells who has written. A seat that was fenced says the same: was
            it a new driver, or Kafka, which gives up transactions that are open for too long? Step 1 knows
6 drain     read the rows to their end in every case: Spark keeps its state only then. Written already in this batch: compare
            count and checksum, and write nothing
7 write     begin at the first row, produce in order, the ledger's record last, commit. No rows: no transaction

A writer is known by the name that the driver gives its partition (`whorl.query.partitions`): Spark numbers the partitions of what it
reads from Kafka otherwise when it repeats a batch.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whorl.errors import Superseded
from whorl.kafka.clients import Clients
from whorl.kafka.transactions import Fenced
from whorl.query.ledger import Written
from whorl.query.seat import SeatOrder, Seats
from whorl.query.unreadable import Readers, explained
from whorl.sinks.kafka import BY_KEY, Entry, dead_row, record_size

How = Literal["written", "nothing", "already", "differs", "doubt", "superseded"]
_SPARE = 4096
"""Of a record's size beside its value: key, headers and what Kafka adds, before each record is looked at alone."""


@dataclass(frozen=True)
class WriteOrder:
    """What the driver tells the tasks of one batch."""

    seat: SeatOrder
    seq: int
    topics: tuple[str, ...]
    limits: Mapping[str, int]
    """The largest message that each topic takes, that of dead letters too."""
    dead_letter: str
    written: Mapping[str, Written] = field(default_factory=dict)
    """What was written of this batch before."""
    names: tuple[str, ...] = ()
    """Of the writers, by partition; without them their numbers."""
    readers: Readers = field(default_factory=dict)

    def writer(self, number: int) -> str:
        return self.names[number] if self.names else str(number)


@dataclass(frozen=True)
class Outcome:
    writer: str
    how: How
    count: int = 0
    bytes: int = 0
    dead: int = 0
    """How many of these are dead letters."""
    detail: str = ""
    worker: str = ""
    """The process that wrote it."""
    connections: int = 0
    """Clients of Kafka that it has open."""


class Tally:
    """How many rows, and of which bytes. Neither the rows' order counts, which a shuffle may change when a batch is repeated, nor where
    Arrow's batches end."""

    def __init__(self) -> None:
        self.count = self.bytes = self.dead = 0
        self._bytes = {name: np.zeros(256, np.int64) for name in ("key", "value")}

    def add(self, batch: pa.RecordBatch) -> None:
        self.count += batch.num_rows
        self.bytes += batch.nbytes
        for name, found in self._bytes.items():
            found += np.bincount(_bytes_of(batch.column(name)), minlength=256)

    @property
    def checksum(self) -> int:
        return zlib.crc32(np.concatenate(list(self._bytes.values())).tobytes())


def write_partition(
    batches: Iterable[pa.RecordBatch], order: WriteOrder, number: int, attempt: int, clients: Clients, seats: Seats
) -> Outcome:
    writer = order.writer(number)
    if attempt > 0:
        for _ in batches:  # what fails on a row fails again, and is told
            pass
        return Outcome(writer, "doubt")
    rows = (batch for batch in batches if batch.num_rows)
    before = order.written.get(writer)
    try:
        return _write(writer, rows, order, clients, seats) if before is None else _compared(writer, before, rows)
    except Fenced as error:
        seats.leave(order.seat)
        return Outcome(writer, "doubt", detail=str(error))
    except Superseded as error:
        seats.leave(order.seat)
        return Outcome(writer, "superseded", detail=str(error))
    except BaseException:
        seats.leave(order.seat)
        raise


def _compared(writer: str, before: Written, batches: Iterable[pa.RecordBatch]) -> Outcome:
    """6, where it was written already."""
    tally = Tally()
    for batch in batches:
        tally.add(batch)
    if (before.count, before.checksum) == (tally.count, tally.checksum):
        return Outcome(writer, "already", tally.count, tally.bytes)
    detail = (
        f"{before.count} rows with checksum {before.checksum:08x} before, now {tally.count} with {tally.checksum:08x}"
    )
    return Outcome(writer, "differs", detail=detail)


def _write(
    writer: str, batches: Iterable[pa.RecordBatch], order: WriteOrder, clients: Clients, seats: Seats
) -> Outcome:
    """7."""
    seat, tally = None, Tally()
    dead = order.topics.index(order.dead_letter) if order.dead_letter in order.topics else -1
    for batch in batches:
        if seat is None:
            seat = seats.seat(clients, order.seat)
            seat.transactions.begin()
        tally.add(batch)
        letters = pc.sum(pc.equal(batch.column("output"), dead)).as_py() or 0
        tally.dead += letters
        seat.produce(_rows(batch, order, letters))
    if seat is None:
        return Outcome(writer, "nothing")
    seat.commit(writer, Written(order.seat.run, order.seq, tally.count, tally.checksum))
    return Outcome(writer, "written", tally.count, tally.bytes, tally.dead)


def _rows(batch: pa.RecordBatch, order: WriteOrder, letters: int) -> Iterable[Entry]:
    columns = set(batch.schema.names)
    count = batch.num_rows
    topics = [order.topics[index] for index in batch.column("output").to_pylist()]
    partitions = _column(batch, "partition", BY_KEY, columns, count)
    times = _column(batch, "timestamp", 0, columns, count)
    headers = _headers(batch, columns, count)
    nothing = [None] * count
    values, keys = batch.column("value").to_pylist(), batch.column("key").to_pylist()
    rows: Iterable[Entry] = zip(topics, values, keys, partitions, nothing, nothing, times, headers, strict=True)
    if letters:
        rows = explained(rows, order.dead_letter, order.readers)
    return rows if _all_fit(batch, order) else _checked(rows, order)


def _column(batch: pa.RecordBatch, name: str, instead: int, columns: set[str], count: int) -> list[int]:
    """A column of numbers, with `instead` for its nulls."""
    if name not in columns or batch.column(name).null_count == count:
        return [instead] * count
    column = batch.column(name)
    return (column.fill_null(instead) if column.null_count else column).to_pylist()  # type: ignore[no-any-return]


def _headers(batch: pa.RecordBatch, columns: set[str], count: int) -> list[Any]:
    if "headers" not in columns or batch.column("headers").null_count == count:
        return [None] * count
    return [
        each and [(header["key"], header["value"]) for header in each] for each in batch.column("headers").to_pylist()
    ]


def _all_fit(batch: pa.RecordBatch, order: WriteOrder) -> bool:
    if "headers" in batch.schema.names and batch.column("headers").null_count < batch.num_rows:
        return False
    longest = max(pc.max(pc.binary_length(batch.column(name))).as_py() or 0 for name in ("key", "value"))
    return bool(2 * longest + _SPARE <= min(order.limits.values()))


def _checked(rows: Iterable[Entry], order: WriteOrder) -> Iterator[Entry]:
    for row in rows:
        topic, value, key, _, _, _, time, headers = row
        size, limit = record_size(value, key, headers), order.limits[topic]
        if size <= limit:
            yield row
        else:
            error = f"{size} bytes are too large for topic '{topic}' (max.message.bytes {limit})"
            yield dead_row(order.dead_letter, value, key, time, topic, error, order.limits[order.dead_letter])


def _bytes_of(column: pa.Array) -> Any:
    """All values of a binary column, one after the other, without a copy."""
    _, offsets, data = column.buffers()
    if data is None or not data.size:
        return np.empty(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)[column.offset :]
    return np.frombuffer(data, np.uint8)[ends[0] : ends[len(column)]]
