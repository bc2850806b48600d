"""One batch, from the driver: a single action, whatever the number of sinks, and what its tasks say came of it."""

from __future__ import annotations

import gc
import os
import pickle
import platform
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache, partial
from types import FrameType
from typing import Any

import orjson
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whorl.errors import Superseded, Unavailable
from whorl.query.seat import Chairs, Seats
from whorl.query.writer import Outcome, WriteOrder, write_partition
from whorl.tasks.clients import TaskClients, connections

_SCHEMA = "outcome string"
_ORDER = "whorl.order"
"""The local property of Spark by which a batch's order reaches its tasks."""
_SEATS = Seats(Chairs().name)
"""Those of this Python worker."""
IN_BULK = {"kafka.compression.type": "lz4", "kafka.batch.size": str(256 << 10), "kafka.linger.ms": "5"}


def writing(frame: DataFrame, address: str, extra: Mapping[str, Any]) -> DataFrame:
    """What comes of writing these rows: computing it is steps 4 to 7 in every partition. Part of the query's plan, so that a batch is not
    planned twice; what is to be done in it comes with the batch."""
    return frame.mapInArrow(partial(_write, address, dict(extra)), _SCHEMA)


def write_exactly_once(written: DataFrame, order: WriteOrder) -> list[Outcome]:
    """Returns when all of it is committed; raises where somebody is in doubt. `written`: a batch of `writing`."""
    context = written.sparkSession.sparkContext
    context.setLocalProperty(_ORDER, b64encode(pickle.dumps(order)).decode())
    # They are few: taken one by one they cost less than the stream that PySpark would open for them.
    rows = written._jdf.collectAsList()
    outcomes = [Outcome(**orjson.loads(rows.get(index).getString(0))) for index in range(rows.size())]
    for outcome in outcomes:
        _judge(outcome, order)
    return outcomes


def _write(address: str, extra: Mapping[str, Any], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    _freeze_once()
    order: WriteOrder = pickle.loads(b64decode(context.getLocalProperty(_ORDER)))
    clients = TaskClients(address, extra)
    number, attempt = context.partitionId(), context.attemptNumber()
    outcome = write_partition(_to_the_end(batches), order, number, attempt, clients, _SEATS)
    outcome = replace(outcome, worker=f"{platform.node()}/{os.getpid()}", connections=_open())
    yield pa.RecordBatch.from_pydict({"outcome": [orjson.dumps(asdict(outcome)).decode()]})


def _open() -> int:
    counts = connections()
    return counts["consumers"] + counts["producers"]


def _to_the_end(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Arrow takes a stream that breaks off for one that ends. What a JVM had sent before it died must not be committed as if it were all:
    behind a whole stream there is Spark's own end mark, behind a broken one nothing."""
    yield from batches
    if not _from_spark().peek(1):
        raise EOFError("Spark's side of the task is gone; nothing of it is written")


def _from_spark() -> Any:
    """Where PySpark's worker reads from: a local variable of its loop, below which this runs."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not (frame.f_code.co_name == "main" and "infile" in frame.f_locals):
        frame = frame.f_back
    if frame is None:
        raise RuntimeError("this PySpark keeps its input elsewhere; whorl.query.action must know where")
    return frame.f_locals["infile"]


@cache
def _freeze_once() -> None:
    """PySpark collects garbage after every task; what was imported is none, and walking over it costs more than a small batch."""
    gc.collect()
    gc.freeze()


def _judge(outcome: Outcome, order: WriteOrder) -> None:
    if outcome.how == "superseded":
        raise Superseded(outcome.detail, hint="this driver ends; nothing was written twice")
    if outcome.how == "doubt":
        raise Unavailable(
            f"a task of '{order.seat.component}' died in batch {order.seq}: the batch is done again {outcome.detail}".strip(),
            hint="what it had written already is not written again",
            code="task-died",
        )


def differing(outcomes: Iterable[Outcome], order: WriteOrder) -> list[str]:
    """What is to be told of partitions that gave other rows when the batch was repeated. Those written before stand."""
    outcomes = list(outcomes)
    gone = set(order.written) - {outcome.writer for outcome in outcomes}
    details = [outcome.detail for outcome in outcomes if outcome.how == "differs"]
    details += [f"{order.written[writer].count} rows before, none now" for writer in sorted(gone)]
    return [
        f"batch {order.seq} gave other rows when it was repeated ({detail}); what was written the first time stands"
        for detail in details
    ]


def write_at_least_once(frame: DataFrame, topics: tuple[str, ...], kafka: Mapping[str, str]) -> None:
    """By Spark's own Kafka writer."""
    named_topics(frame, topics).write.format("kafka").options(**IN_BULK, **kafka).save()


def named_topics(frame: DataFrame, topics: tuple[str, ...]) -> DataFrame:
    """With the topic's name, as Spark's own writer wants it; it takes no timestamp."""
    names = F.array(*(F.lit(topic) for topic in topics))
    topic = F.lit(topics[0]) if len(topics) == 1 else F.element_at(names, F.col("output") + 1)
    kept = [name for name in ("partition", "key", "value", "headers") if name in frame.columns]
    return frame.select(topic.alias("topic"), *kept)
