"""The query host: each component is one Structured Streaming query, started again when it fails and a retry may help.

PREPARED -> RUNNING -> ENDED            stopped, or nothing left to read (`until_caught_up`)
             |   ^
             v   |
            WAITING                     after a failure, as the restart strategy says
             |
             +-> ENDED with `error`
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from pyspark.sql import DataFrame, SparkSession

from whorl.config.settings import Settings
from whorl.config.spec import FileSink
from whorl.errors import Superseded, Unavailable, WhorlError, WorldError
from whorl.kafka.clients import KafkaClients
from whorl.plan.plan import Component, Delivery
from whorl.query.action import differing, write_at_least_once, write_exactly_once
from whorl.query.checkpoint import Checkpoint, Manifest, Positions, compare, gone, is_older, used
from whorl.query.compile import Compiled, compile_component
from whorl.query.dead import dead_letters
from whorl.query.errors import Places, as_whorl_error
from whorl.query.failures import failed_again_and_again
from whorl.query.ledger import Ledger, Taken
from whorl.query.partitions import writer_names
from whorl.query.pins import fingerprint, pinned
from whorl.query.progress import QueryFigures, figures_after, reports_after
from whorl.query.read import Reading
from whorl.query.seat import SeatOrder, batch_timeout
from whorl.query.start import trigger_of, writer_of
from whorl.query.writer import WriteOrder
from whorl.schema import Schema
from whorl.tasks.host import delay

_LOOK_EVERY = 0.25
_MIRROR_EVERY = 1.0
_MOST_PER_BATCH = 500_000
_DEAD = "dead."
"""Begins the names of those who write the dead letters of a batch in a second action."""


class QueryState(Enum):
    PREPARED = "prepared"
    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"


@dataclass(frozen=True)
class QueryAssignment:
    """Everything a query must know, as data."""

    pipeline: str
    uid: str
    component: Component
    topics: Mapping[str, tuple[str, ...]]
    """Input id to the topics it reads."""
    partitions: Mapping[str, int]
    limits: Mapping[str, int]
    """The largest message that each topic written takes."""
    dead_letter: str
    ledger: str
    settings: Settings
    until_caught_up: bool = False
    accept_repeat: bool = False


class QueryJob:
    def __init__(
        self, session: SparkSession, assignment: QueryAssignment, clients: KafkaClients, places: Places
    ) -> None:
        self.assignment = assignment
        self.state = QueryState.PREPARED
        self.error: WhorlError | None = None
        self.figures = QueryFigures()
        self.restarts = 0
        self.notices: list[str] = []
        """What the user should hear of, though it goes on."""
        self._session = session.newSession()
        self._clients = clients
        self._places = places
        component = assignment.component
        self._checkpoint = Checkpoint(
            session, assignment.settings.checkpoints, assignment.pipeline, assignment.uid, component.id
        )
        self._ledger = Ledger(clients, assignment.ledger, assignment.uid, component.id)
        self._taken: Taken | None = None
        self._failures: deque[float] = deque()
        self._raised: WhorlError | None = None
        self._query: Any = None
        self._is_started = threading.Event()
        self._stopping = False
        self._look_at = self._again_at = self._mirror_at = 0.0
        self._group = clients.consumer(**{"group.id": component.group})

    @property
    def description(self) -> str:
        return f"{self.assignment.pipeline}/{self.assignment.component.id}"

    @property
    def checkpoint(self) -> str:
        return self._checkpoint.path

    # -- before it runs ---------------------------------------------------------------------------------------------------------------

    def prepare(self, first: Callable[[], Mapping[str, Positions]]) -> Mapping[str, Schema]:
        """Fixes where reading begins and compiles; gives the exact columns of what it writes, by output."""
        manifest = self._checkpoint.manifest()
        if manifest is None:
            if self._ledger.last_run() and not self.assignment.accept_repeat:
                raise gone(self.assignment.component.id, self.checkpoint)
            if self._in_folder() >= 0:
                raise used(self._folder())
            manifest = self._wanted(first())
            self._checkpoint.write(manifest)
        for name, value in manifest.settings.items():
            self._session.conf.set(name, value)
        self._manifest = manifest
        self._compiled = self._compile(manifest)
        return self._compiled.schemas

    def _wanted(self, starts: Mapping[str, Positions]) -> Manifest:
        assignment, component = self.assignment, self.assignment.component
        inputs = tuple(input.id for input in component.inputs)
        names = (assignment.pipeline, component.id, assignment.uid)
        return Manifest(*names, fingerprint(component), inputs, starts, pinned(assignment.settings))

    def _folder(self) -> str:
        """That of the file sink, if it has one."""
        sink = self.assignment.component.outputs[0].sink
        return sink.path if isinstance(sink, FileSink) else ""

    def _in_folder(self) -> int:
        return self._checkpoint.in_folder(self._folder()) if self._folder() else -1

    def _compile(self, manifest: Manifest) -> Compiled:
        try:
            return compile_component(self._session, self.assignment.component, self._reading(manifest), self._places)
        except WhorlError:
            raise
        except Exception as error:
            raise as_whorl_error(error, self.assignment.component, self._places) from error

    def _reading(self, manifest: Manifest) -> Reading:
        assignment = self.assignment
        return Reading(
            address=self._clients.address,
            kafka=_java_options(self._clients),
            topics=assignment.topics,
            starts=_numbered(manifest.starts),
            ends=None,
            partitions=assignment.partitions,
            dead_letter=assignment.dead_letter,
            max_per_batch=assignment.settings.max_per_batch or self._most(),
        )

    def _most(self) -> int | None:
        """A backlog is taken in parts, so that no transaction lasts too long. Real-time mode has no batches to bound."""
        realtime = self.assignment.component.delivery is Delivery.REALTIME
        return None if realtime and not self.assignment.until_caught_up else _MOST_PER_BATCH

    # -- at work ----------------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """1 to 3, then Spark has the word."""
        taken = self._ledger.take(self._taken.run if self._taken else None)
        self._taken = taken
        manifest = self._checkpoint.manifest() or self._manifest
        progress = self._checkpoint.progress()
        written = {self._in_folder()} if self._folder() else taken.seqs
        if self.assignment.accept_repeat and not self._folder() and is_older(manifest, progress, written):
            manifest = replace(manifest, base=max(written) + 1)
        manifest = compare(manifest, self._wanted(manifest.starts), progress, written, self.checkpoint)
        self._manifest = replace(manifest, run=taken.run)
        self._checkpoint.write(self._manifest)
        self._raised = None
        self._is_started.clear()
        self._query = self._started()
        self._is_started.set()
        self.state = QueryState.RUNNING

    def _started(self) -> Any:
        assignment = self.assignment
        kafka = _java_options(self._clients)
        writer = writer_of(self._compiled, assignment.component, kafka, self._batch)
        trigger = trigger_of(assignment.settings, assignment.until_caught_up)
        try:
            return (
                writer.trigger(**trigger)
                .queryName(self.description)
                .option("checkpointLocation", self.checkpoint)
                .start()
            )
        except Exception as error:
            raise as_whorl_error(error, assignment.component, self._places) from error

    def _batch(self, frame: DataFrame, batch: int) -> None:
        """What Spark calls with each batch, in a thread of its own; what it raises would come back as text."""
        try:
            self._write(frame, batch)
        except WhorlError as error:
            self._raised = error
            raise

    def _write(self, frame: DataFrame, batch: int) -> None:
        self._write_rows(frame, batch, self._compiled.topics)
        if self._compiled.observed and self._unreadable():
            self._write_dead_letters(batch)

    def _write_rows(self, frame: DataFrame, batch: int, topics: tuple[str, ...], prefix: str = "") -> None:
        if self.assignment.component.delivery is Delivery.NATIVE:
            self._count(write_at_least_once(frame, topics, _java_options(self._clients)))
            return
        order = self._order(batch, topics, prefix, self._names(frame, prefix))
        outcomes = write_exactly_once(frame, order, self._clients.address, self._clients.extra)
        self.notices += differing(outcomes, order)
        self._count(sum(each.count for each in outcomes), sum(each.dead for each in outcomes))

    def _count(self, rows: int, dead: int = 0) -> None:
        """`rows`: with the dead letters."""
        figures = self.figures
        self.figures = replace(figures, written=figures.written + rows - dead, dead=figures.dead + dead)

    def _unreadable(self) -> int:
        """How many rows of this batch could not be read, as counted on the way."""
        self._is_started.wait()
        metrics = self._query._jsq.streamingQuery().lastExecution().observedMetrics()
        return sum(int(metrics.apply(name).getLong(0)) for name in self._compiled.observed)

    def _write_dead_letters(self, batch: int) -> None:
        """A second action, in batches that have some: the batch's records are read again, and those that cannot be written away."""
        manifest = self._manifest
        ends = self._checkpoint.positions(batch, manifest.inputs)
        starts = self._checkpoint.positions(batch - 1, manifest.inputs) or manifest.starts
        reading = replace(self._reading(manifest), starts=_numbered(starts), ends=_numbered(ends))
        frame, topics = dead_letters(self._session, self.assignment.component, reading, self._places)
        self._write_rows(frame, batch, topics, prefix=_DEAD)

    def _names(self, frame: DataFrame, prefix: str) -> tuple[str, ...]:
        """Of the partitions that are to be written: of the batch itself, or of a second action on it."""
        if prefix:
            plan = frame._jdf.queryExecution().executedPlan()
        else:
            self._is_started.wait()
            plan = self._query._jsq.streamingQuery().lastExecution().executedPlan()
        return tuple(prefix + name for name in writer_names(plan))

    def _order(self, batch: int, topics: tuple[str, ...], prefix: str, names: tuple[str, ...]) -> WriteOrder:
        assignment, taken = self.assignment, self._taken
        assert taken is not None
        timeout = batch_timeout(assignment.settings)
        seat = SeatOrder(assignment.ledger, assignment.uid, assignment.component.id, taken.run, timeout)
        seq = self._manifest.base + batch
        limits = {topic: assignment.limits[topic] for topic in {*topics, assignment.dead_letter}}
        written = {writer: each for writer, each in taken.of(seq).items() if writer.startswith(_DEAD) == bool(prefix)}
        return WriteOrder(seat, seq, topics, limits, assignment.dead_letter, written, names)

    # -- watched ----------------------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Takes in Spark's progress; ends, or starts it again, when the query has died."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EVERY
        if self.state is QueryState.WAITING and now >= self._again_at:
            self._start_again()
        if self.state is not QueryState.RUNNING:
            return
        alive = self._query.isActive
        self._take_progress()
        if not alive:
            self._over()
        elif reason := failed_again_and_again(self._session.sparkContext, str(self._query.runId)):
            self._raised = as_whorl_error(RuntimeError(reason), self.assignment.component, self._places)
            self._query.stop()
            self._over()
        elif self._stopping:
            self._stop_between_batches()

    def _start_again(self) -> None:
        try:
            self.start()
        except WhorlError as error:
            self._failed(error)

    def _take_progress(self) -> None:
        with suppress(Exception):  # a JVM that dies says so elsewhere
            self.figures = figures_after(
                self.figures, reports_after(self._query._jsq.recentProgress(), self.figures.batch)
            )
        if time.monotonic() >= self._mirror_at:
            self._mirror_at = time.monotonic() + _MIRROR_EVERY
            self._mirror()

    def _mirror(self) -> None:
        """8. The group's offsets, for tools; nothing depends on them."""
        offsets = [TopicPartition(*place, offset) for place, offset in self.figures.positions.items()]
        if offsets:
            with suppress(KafkaException):
                self._group.commit(offsets=offsets, asynchronous=True)

    def _over(self) -> None:
        error = self._raised or self._query.exception()
        if error is None or self._stopping:
            self._end(None)
        elif isinstance(error, WhorlError):
            self._failed(error)
        else:
            self._failed(as_whorl_error(error, self.assignment.component, self._places))

    def _failed(self, error: WhorlError) -> None:
        """A restart, as far as the strategy allows it and it may help."""
        restart, now = self.assignment.settings.restart, time.monotonic()
        while self._failures and self._failures[0] < now - restart.window:
            self._failures.popleft()
        self._failures.append(now)
        allowed = 0 if restart.strategy == "none" else restart.attempts
        if not error.retryable or self._stopping:
            self._end(error)
        elif len(self._failures) > allowed:
            message = f"component '{self.assignment.component.id}' failed again and again: {error}"
            self._end(WorldError(message, hint="see 'restart' in the settings; --verbose shows more", code="gave-up"))
        else:
            self.restarts += 1
            self.notices.append(f"starts again: {error}")
            self.state = QueryState.WAITING
            self._again_at = now + delay(restart, len(self._failures) - 1)

    # -- the end ----------------------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Graceful: the batch under way is finished, then the query stops."""
        self._stopping = True
        self._look_at = 0.0
        if self.state in (QueryState.PREPARED, QueryState.WAITING):
            self._end(None)

    def _stop_between_batches(self) -> None:
        status = self._query.status
        self._look_at = 0.0
        if not status["isTriggerActive"] or self.assignment.component.delivery is Delivery.REALTIME:
            self.cancel()

    def cancel(self) -> None:
        """At once; the batch under way is done again at the next start."""
        if self._query is not None and self.state is QueryState.RUNNING:
            with suppress(Exception):
                self._query.stop()
        self._end(self.error)

    def _end(self, error: WhorlError | None) -> None:
        self.state, self.error = QueryState.ENDED, error
        if self._taken and not isinstance(error, Superseded):
            with suppress(Unavailable, KafkaException):
                self._ledger.close()
        self._mirror_last()

    def _mirror_last(self) -> None:
        self._mirror()
        with suppress(Exception):
            self._group.close()


def _java_options(clients: KafkaClients) -> dict[str, str]:
    """Settings of librdkafka that Kafka's own client knows by the same name."""
    shared = ("security.protocol", "sasl.", "ssl.", "client.id")
    extra = {f"kafka.{name}": str(value) for name, value in clients.extra.items() if name.startswith(shared)}
    return {"kafka.bootstrap.servers": clients.address, **extra}


def _numbered(starts: Mapping[str, Positions]) -> dict[str, dict[str, dict[int, int]]]:
    return {
        id: {topic: {int(partition): at for partition, at in of.items()} for topic, of in positions.items()}
        for id, positions in starts.items()
    }
