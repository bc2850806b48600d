"""What happens with each batch that Spark hands over: its rows are written, and, where there are some, its dead letters."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from whorl.errors import WhorlError
from whorl.kafka.clients import KafkaClients
from whorl.plan.plan import Delivery
from whorl.query.action import differing, write_at_least_once, write_exactly_once, writing
from whorl.query.assignment import QueryAssignment, java_options, numbered
from whorl.query.checkpoint import Checkpoint, Manifest
from whorl.query.compile import Compiled
from whorl.query.dead import dead_letters
from whorl.query.errors import Places
from whorl.query.ledger import Taken
from whorl.query.partitions import writer_names
from whorl.query.seat import SeatOrder, batch_timeout
from whorl.query.writer import WriteOrder

_DEAD = "dead/"
"""Begins the names of those who write the dead letters of a batch in a second action; no topic has a slash."""


class Stopping(Exception):
    """The query is to stop: nothing of the batch that begins was written, and it is the first of the next start."""


class Batches:
    """Of one start of a query. Spark calls `write` in a thread of its own, and only there do the totals change."""

    def __init__(
        self,
        assignment: QueryAssignment,
        clients: KafkaClients,
        session: SparkSession,
        compiled: Compiled,
        places: Places,
    ) -> None:
        self.written = self.dead = 0
        self.notices: list[str] = []
        """What the user should hear of, though it goes on."""
        self.raised: WhorlError | None = None
        self.stopping = False
        self._assignment, self._clients = assignment, clients
        self._session, self._compiled, self._places = session, compiled, places
        self._query: Any = None
        self._has_query = Event()

    def prepared(self, rows: DataFrame) -> DataFrame:
        """As `write` wants them."""
        by_ledger = self._assignment.component.delivery is Delivery.LEDGER
        return writing(rows, self._clients.address, self._clients.extra) if by_ledger else rows

    def begin(self, taken: Taken, manifest: Manifest, checkpoint: Checkpoint) -> None:
        self._taken, self._manifest, self._checkpoint = taken, manifest, checkpoint
        self.raised = None
        self._has_query.clear()

    def started(self, query: Any) -> None:
        self._query = query
        self._has_query.set()

    def write(self, frame: DataFrame, batch: int) -> None:
        """What it raises comes back from Spark as text, so it is kept."""
        if self.stopping:
            raise Stopping
        try:
            self._has_query.wait(60)  # the first batch may come before `start` has returned
            self._write_rows(frame, batch, self._compiled.topics)
            if self._compiled.observed and self._unreadable():
                self._write_dead_letters(batch)
        except WhorlError as error:
            self.raised = error
            raise

    def _write_rows(self, frame: DataFrame, batch: int, topics: tuple[str, ...], prefix: str = "") -> None:
        if self._assignment.component.delivery is Delivery.NATIVE:
            write_at_least_once(frame, topics, java_options(self._clients))
            return
        execution = frame._jdf.queryExecution() if prefix else self._execution()
        names = tuple(prefix + name for name in writer_names(execution))
        order = self._order(batch, topics, prefix, names)
        outcomes = write_exactly_once(frame, order)
        self.notices += differing(outcomes, order)
        dead = sum(each.dead for each in outcomes)
        self.written += sum(each.count for each in outcomes) - dead
        self.dead += dead

    def _execution(self) -> Any:
        """Of the batch under way, in the JVM."""
        return self._query._jsq.streamingQuery().lastExecution()

    def _unreadable(self) -> int:
        """How many rows of this batch could not be read, as counted on the way."""
        metrics = self._execution().observedMetrics()
        return sum(int(metrics.apply(name).getLong(0)) for name in self._compiled.observed)

    def _write_dead_letters(self, batch: int) -> None:
        """In batches that have some, the records are read again, and those that cannot be are written away."""
        assignment, manifest = self._assignment, self._manifest
        ends = self._checkpoint.positions(batch, assignment.topics)
        starts = {**manifest.starts, **self._checkpoint.positions(batch - 1, assignment.topics)}
        reading = replace(assignment.reading(self._clients, starts), ends=numbered(ends))
        frame, topics = dead_letters(self._session, assignment.component, reading, self._places)
        self._write_rows(self.prepared(frame), batch, topics, prefix=_DEAD)

    def _order(self, batch: int, topics: tuple[str, ...], prefix: str, names: tuple[str, ...]) -> WriteOrder:
        assignment, taken = self._assignment, self._taken
        timeout = batch_timeout(assignment.settings)
        seat = SeatOrder(assignment.ledger, assignment.uid, assignment.component.id, taken.run, timeout)
        seq = self._manifest.base + batch
        limits = {topic: assignment.limits[topic] for topic in {*topics, assignment.dead_letter}}
        written = {writer: each for writer, each in taken.of(seq).items() if writer.startswith(_DEAD) == bool(prefix)}
        readers = {
            input.id: (input.format, input.schema)
            for input in assignment.component.inputs
            if input.id in assignment.topics
        }
        return WriteOrder(seat, seq, topics, limits, assignment.dead_letter, written, names, readers)
