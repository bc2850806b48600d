"""What happens with each batch that Spark hands over: its rows are written, and, where there are some, its dead letters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from threading import Event
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

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
from whorl.query.stores.patience import GivenUp
from whorl.query.stores.store import Order
from whorl.query.storing import Storing
from whorl.query.writer import WriteOrder

_DEAD = "dead/"
"""Begins the names of those who write the dead letters of a batch in a second action; no topic has a slash."""

_COUNTED = "whorl: rows"


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
        self.connections: dict[str, int] = {}
        """By Python worker: clients of Kafka that it had open in its last batch."""
        self.notices: list[str] = []
        """What the user should hear of, though it goes on."""
        self.raised: WhorlError | None = None
        self.stopping = False
        self._assignment, self._clients = assignment, clients
        self._session, self._compiled, self._places = session, compiled, places
        self._query: Any = None
        self._has_query = Event()
        self._storing = self._stores(session) if assignment.component.delivery is Delivery.STORE else None

    def _stores(self, session: SparkSession) -> Storing:
        (output,), kafka = self._assignment.component.outputs, java_options(self._clients)
        return Storing(session, output, self._assignment.dead_letter, kafka, self.notices.append, lambda: self.stopping)

    def prepared(self, rows: DataFrame) -> DataFrame:
        """As `write` wants them: written when they are computed, or counted on the way to Spark's own writer."""
        if self._by_ledger:
            return writing(rows, self._clients.address, self._clients.extra)
        dead = F.col("output") == self._compiled.topics.index(self._assignment.dead_letter)
        return rows.observe(_COUNTED, F.count_if(~dead).alias("good"), F.count_if(dead).alias("dead"))

    @property
    def _by_ledger(self) -> bool:
        return self._assignment.component.delivery is Delivery.LEDGER

    def renew(self, compiled: Compiled) -> None:
        """It starts anew with this; what was counted stays."""
        self._compiled, self.stopping = compiled, False

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
            self._write_rows(frame, batch)
            if self._compiled.observed and (bad := self._unreadable()):
                self._write_dead_letters(batch, bad)
        except GivenUp:
            raise Stopping from None
        except WhorlError as error:
            self.raised = error
            raise

    def _write_rows(self, frame: DataFrame, batch: int) -> None:
        if self._storing is not None:
            assignment, seq = self._assignment, self._manifest.base + batch
            order = Order(assignment.pipeline, assignment.component.id, assignment.uid, self._taken.run, seq)
            stored = self._storing.write(frame, order)
            self.written += stored.written
            self.dead += stored.dead
            return
        if self._by_ledger:
            self._write_by_ledger(frame, batch, self._compiled.topics, writer_names(self._execution()))
            return
        write_at_least_once(frame, self._compiled.topics, java_options(self._clients))
        counted = self._execution().observedMetrics().apply(_COUNTED)
        self.written += int(counted.getLong(0))
        self.dead += int(counted.getLong(1))

    def _write_by_ledger(
        self, frame: DataFrame, batch: int, topics: tuple[str, ...], writers: Iterable[str], prefix: str = ""
    ) -> None:
        names = tuple(prefix + name for name in writers)
        order = self._order(batch, topics, prefix, names)
        outcomes = write_exactly_once(frame, order)
        self.notices += differing(outcomes, order)
        self.connections |= {each.worker: each.connections for each in outcomes if each.worker}
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

    def _write_dead_letters(self, batch: int, bad: int) -> None:
        """In batches that have some, the records are read again, and those that cannot be are written away."""
        assignment, manifest = self._assignment, self._manifest
        ends = self._checkpoint.positions(batch, assignment.topics)
        starts = {**manifest.starts, **self._checkpoint.positions(batch - 1, assignment.topics)}
        reading = replace(assignment.reading(self._clients, starts), ends=numbered(ends))
        frame, topics = dead_letters(self._session, assignment.component, reading, self._places)
        if self._by_ledger:
            written = self.prepared(frame)
            self._write_by_ledger(written, batch, topics, writer_names(written._jdf.queryExecution()), prefix=_DEAD)
        else:
            write_at_least_once(frame, topics, java_options(self._clients))
            self.dead += bad

    def _order(self, batch: int, topics: tuple[str, ...], prefix: str, names: tuple[str, ...]) -> WriteOrder:
        assignment, taken = self._assignment, self._taken
        timeout = batch_timeout(assignment.settings)
        seat = SeatOrder(assignment.ledger, assignment.uid, assignment.component.id, taken.run, timeout)
        seq = self._manifest.base + batch
        limits = {topic: assignment.limits[topic] for topic in {*topics, assignment.dead_letter}}
        written = {writer: each for writer, each in taken.of(seq).items() if writer.startswith(_DEAD) == bool(prefix)}
        from_topics = [input for input in assignment.component.inputs if assignment.topics.get(input.id)]
        readers = {input.id: (input.format, input.schema) for input in from_topics}
        return WriteOrder(seat, seq, topics, limits, assignment.dead_letter, written, names, readers)
