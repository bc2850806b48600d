"""A server that is told of rows, at least once: by the tasks, request by request, each with a key by which the server knows it again.

A row's key is where it came from, pipeline/sink/topic/partition/offset; of a row that came from no record, or of several rows in one
request, the batch and the row's number in it. A request that was answered is not sent again while its batch is tried on, unless the task
dies. An answer of 4xx, but for 408, 425 and 429, refuses the rows; of all others the server is taken to be away.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import orjson
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whorl.config.stores import HttpSink
from whorl.errors import Unavailable
from whorl.query.encode import as_json
from whorl.query.frames import OFFSET, PARTITION, TOPIC
from whorl.query.stores.store import ROW, Order, Reject

_LATER = (408, 425, 429)
_OUTCOME = "partition int, done long, refused string, away string"
_FAILURES = (OSError, http.client.HTTPException, ssl.SSLError, TimeoutError)
Told = tuple[str, int, str]
"""A request's key, the number of its first row, and its rows as JSON."""


@dataclass
class HttpStore:
    id: str
    sink: HttpSink
    _done: dict[int, int] = field(default_factory=dict)
    """Of the batch under way: how many rows of each partition were answered."""
    _seq: int = -1

    def fitted(self, rows: DataFrame) -> DataFrame:
        return rows

    def write(self, rows: DataFrame, order: Order, reject: Reject) -> bool:
        if order.seq != self._seq:
            self._seq, self._done = order.seq, {}
        place = f"{order.pipeline}/{self.id}"
        sent = _keyed(rows).mapInArrow(partial(_send, self.sink, place, order, dict(self._done)), _OUTCOME).collect()
        self._done |= {each.partition: each.done for each in sent}
        refused = {int(row): why for each in sent for row, why in orjson.loads(each.refused).items()}
        if refused:
            reject(refused)
        if away := [each.away for each in sent if each.away]:
            raise Unavailable(f"{self.sink.url} does not answer: {away[0]}", hint="is it up?", code="store-away")
        return True


def _keyed(rows: DataFrame) -> DataFrame:
    there = [name for name in (TOPIC, PARTITION, OFFSET) if name in rows.columns]
    whole = len(there) == 3
    key = F.concat_ws("/", *[F.col(name).cast("string") for name in there]) if whole else F.lit(None).cast("string")
    known = F.when(F.col(OFFSET).isNotNull(), key) if whole else key
    return rows.select(F.col(ROW).alias("row"), known.alias("place"), as_json(rows, exact=False).alias("json"))


def _send(
    sink: HttpSink, place: str, order: Order, done: Mapping[int, int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    partition = context.partitionId()
    before = done.get(partition, 0)
    answered, refused, away = before, dict[str, str](), ""
    rows = (row for batch in batches for row in batch.to_pylist())
    with_server = Server(sink)
    for request in _requests(rows, sink, place, order, before):
        if away:
            continue  # Spark keeps its state only if all is read
        status, said = with_server.tell(*request[:2])
        if status == 0 or status >= 500 or status in _LATER:
            away = said
        else:
            answered += len(request[2])
            refused |= (
                {}
                if status < 400
                else {str(row): f"ValueError: {sink.url} answers {status} {said}".strip() for row in request[2]}
            )
    with_server.close()
    row = {"partition": partition, "done": answered, "refused": orjson.dumps(refused).decode(), "away": away}
    types = pa.schema(
        [("partition", pa.int32()), ("done", pa.int64()), ("refused", pa.string()), ("away", pa.string())]
    )
    yield pa.RecordBatch.from_pylist([row], schema=types)


def _requests(
    rows: Iterable[Mapping[str, Any]], sink: HttpSink, place: str, order: Order, before: int
) -> Iterator[tuple[str, str, list[int]]]:
    """(key, body, numbers of the rows) of each request, but for the rows that were answered before."""
    bulk: list[Mapping[str, Any]] = []
    for number, row in enumerate(rows):
        if number >= before:
            bulk.append(row)
        if len(bulk) == sink.rows_per_request:
            yield _request(bulk, sink, place, order)
            bulk = []
    if bulk:
        yield _request(bulk, sink, place, order)


def _request(bulk: list[Mapping[str, Any]], sink: HttpSink, place: str, order: Order) -> tuple[str, str, list[int]]:
    numbers = [row["row"] for row in bulk]
    if sink.rows_per_request == 1:
        (row,) = bulk
        return f"{place}/{row['place'] or f'{order.uid}/{order.seq}/{numbers[0]}'}", row["json"], numbers
    return f"{place}/{order.uid}/{order.seq}/{numbers[0]}", f"[{','.join(row['json'] for row in bulk)}]", numbers


class Server:
    """One connection, kept open from request to request."""

    def __init__(self, sink: HttpSink) -> None:
        parts = urlsplit(sink.url)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=sink.timeout)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._method, self._headers = sink.method, {"Content-Type": "application/json", **sink.headers}

    def tell(self, key: str, body: str) -> tuple[int, str]:
        """(status, why not); 0 where there was no answer. A connection that was closed in between is opened once more."""
        for fresh in (False, True):
            try:
                self._connection.request(
                    self._method, self._path, body.encode(), {**self._headers, "Idempotency-Key": key}
                )
                answer = self._connection.getresponse()
                said = answer.read(300).decode(errors="replace").strip()
                answer.read()
                return answer.status, f"{said}" if 400 <= answer.status < 500 else f"{answer.status} {answer.reason}"
            except _FAILURES as error:
                self._connection.close()
                if fresh or isinstance(error, ConnectionRefusedError):
                    return 0, str(error) or type(error).__name__
        raise AssertionError

    def close(self) -> None:
        self._connection.close()
