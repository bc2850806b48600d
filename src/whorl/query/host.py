"""The query host: each component is one Structured Streaming query, started again when it fails and a retry may help.

PREPARED -> RUNNING -> ENDED            stopped, or nothing left to read (`until_caught_up`)
             |   ^
             v   |
            WAITING                     after a failure, as the restart strategy says
             |
             +-> ENDED with `error`
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from pyspark.sql import DataFrame, SparkSession

from whorl.errors import Superseded, Unavailable, WhorlError, WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.query.assignment import QueryAssignment, java_options
from whorl.query.batches import Batches
from whorl.query.checkpoint import (
    Checkpoint,
    Manifest,
    Positions,
    compare,
    gone,
    is_older,
    same_backend,
    same_inputs,
    used,
)
from whorl.query.compile import Compiled, compile_component
from whorl.query.errors import Places, as_whorl_error
from whorl.query.gaps import past_gaps
from whorl.query.ledger import Ledger
from whorl.query.pace import pace_of
from whorl.query.progress import QueryFigures, figures_after, load_of, reports_after
from whorl.query.refresh import Refresh
from whorl.query.start import trigger_of, writer_of
from whorl.schema import Schema
from whorl.spark.failures import failed_again_and_again
from whorl.tasks.host import delay

_LOOK_EVERY = 0.25
_MIRROR_EVERY = 30.0


class QueryState(Enum):
    PREPARED = "prepared"
    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"


class QueryJob:
    def __init__(
        self, session: SparkSession, assignment: QueryAssignment, clients: KafkaClients, places: Places
    ) -> None:
        self.assignment = assignment
        self.state = QueryState.PREPARED
        self.error: WhorlError | None = None
        self.figures = QueryFigures()
        self.restarts = 0
        self._session = session.newSession()
        self._clients = clients
        self._cluster = Cluster(clients)
        self._places = places
        component = assignment.component
        root = assignment.settings.checkpoints
        self._checkpoint = Checkpoint.of(session, root, assignment.pipeline, assignment.uid, component.id)
        self._ledger = Ledger(clients, assignment.ledger, assignment.uid, component.id)
        self._has_taken = False
        self._failures: list[float] = []
        self._batches_before = 0
        self._query: Any = None
        self._stopping = False
        self._look_at = self._again_at = self._mirror_at = 0.0
        self._refresh = Refresh.of(component)
        self.pace = pace_of(assignment.settings, time.monotonic)
        self._renewing = False
        self._group = clients.consumer(**{"group.id": component.group})

    @property
    def description(self) -> str:
        return f"{self.assignment.pipeline}/{self.assignment.component.id}"

    @property
    def written(self) -> int:
        return self.batches.written + self.figures.written

    @property
    def checkpoint(self) -> str:
        return self._checkpoint.path

    # -- before it runs ---------------------------------------------------------------------------------------------------------------

    def prepare(self, first: Callable[[], Mapping[str, Positions]]) -> Mapping[str, Schema]:
        """Fixes where reading begins and compiles; gives the exact columns of what it writes, by output."""
        assignment = self.assignment
        manifest = self._checkpoint.manifest()
        if manifest is None:
            manifest = self._first(first)
        wanted = assignment.manifest({})
        same_inputs(manifest, wanted)
        if assignment.component.stateful:
            same_backend(manifest, wanted)
        for name, value in {**manifest.settings, **self._checkpoint.settings}.items():
            self._session.conf.set(name, value)
        self._compiled = self._compile(manifest)
        self.batches = Batches(assignment, self._clients, self._session, self._compiled, self._places)
        return self._compiled.schemas

    def _compile(self, manifest: Manifest) -> Compiled:
        """Reads what is read once."""
        reading = self.assignment.reading(self._clients, manifest.starts, self.pace.most)
        reading = replace(reading, snapshots=f"{self.checkpoint}/static")
        self._refresh.done()
        try:
            return compile_component(self._session, self.assignment.component, reading, self._places, self._initial())
        except Exception as error:
            raise self._told(error) from error

    def _initial(self) -> DataFrame | None:
        """What it begins with: nothing, unless it goes on from tasks."""
        checkpoint = self._checkpoint
        return self._session.read.parquet(checkpoint.initial_path) if checkpoint.has_initial else None

    def _first(self, first: Callable[[], Mapping[str, Positions]]) -> Manifest:
        """The manifest of a first start, written before anything upstream runs."""
        assignment = self.assignment
        if self._ledger.last_run():
            raise gone(assignment.component.id, self.checkpoint)
        if assignment.folder and self._checkpoint.in_folder(assignment.folder) >= 0:
            raise used(assignment.folder)
        manifest = assignment.manifest(first())
        self._checkpoint.write(manifest)
        return manifest

    def _told(self, error: Exception) -> WhorlError:
        return (
            error if isinstance(error, WhorlError) else as_whorl_error(error, self.assignment.component, self._places)
        )

    # -- at work ----------------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A failure counts as one of the query: another try, or its end."""
        try:
            self._start()
        except Exception as error:
            self._failed(self._told(error))

    def _start(self) -> None:
        """1 to 3, then Spark has the word."""
        taken = self._ledger.take()
        self._has_taken = True
        manifest, folder = self._checkpoint.manifest(), self.assignment.folder
        if manifest is None:
            raise gone(self.assignment.component.id, self.checkpoint)
        written = {self._checkpoint.in_folder(folder)} if folder else taken.seqs
        past_gaps(
            self._cluster, self._checkpoint, manifest, self.assignment.leaps, written, self.batches.notices.append
        )
        manifest, progress = self._checkpoint.manifest() or manifest, self._checkpoint.progress()
        if self.assignment.accept_repeat and not folder and is_older(manifest, progress, written):
            manifest = replace(manifest, base=max(written) + 1)
        wanted = self.assignment.manifest(manifest.starts)
        manifest = replace(compare(manifest, wanted, progress, written, self.checkpoint), run=taken.run)
        self._checkpoint.write(manifest)
        self.batches.begin(taken, manifest, self._checkpoint)
        self.figures = replace(self.figures, idle=0)
        self._query = self._writer().option("checkpointLocation", self.checkpoint).start()
        self.batches.started(self._query)
        self._note_positions()
        self._mirror(asynchronous=True)
        self.state = QueryState.RUNNING

    def _writer(self) -> Any:
        assignment = self.assignment
        writer = writer_of(self._compiled, assignment.component, java_options(self._clients), self.batches)
        trigger = trigger_of(assignment.settings, assignment.until_caught_up, self._compiled.endless)
        return writer.trigger(**trigger).queryName(self.description)

    # -- watched ----------------------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Takes in Spark's progress; ends, or starts it again, when the query has died."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EVERY
        if self.state is QueryState.WAITING and now >= self._again_at:
            self.start()
        if self.state is QueryState.RUNNING:
            try:
                self._look()
            except Exception as error:  # the JVM is gone: nothing can be asked any more
                self._end(self._told(error))

    def _look(self) -> None:
        alive = self._query.isActive
        self._take_progress()
        if not alive:
            self._over()
        elif reason := failed_again_and_again(self._session.sparkContext, str(self._query.runId)):
            self._query.stop()
            self._failed(self._told(RuntimeError(reason)))
        elif self._stopping or self._renewing:
            self._stop_between_batches()
        elif self._refresh_is_due or self.pace.wants_change:
            self._renewing = self.batches.stopping = True
        elif self._is_through:
            self.stop()

    @property
    def _refresh_is_due(self) -> bool:
        return self._refresh.is_due and not self.assignment.until_caught_up

    @property
    def _is_through(self) -> bool:
        """Whether a query that Spark would never end has read all that it should. The first batch of a start may be one of an earlier
        start, done again, and tells nothing."""
        return self.assignment.until_caught_up and self._compiled.endless and self.figures.idle > 1

    def _take_progress(self) -> None:
        """Batch by batch, and now and then without one: a group's offsets expire."""
        reports = reports_after(self._query._jsq.recentProgress(), self.figures.batch)
        for records, seconds in map(load_of, reports):
            self.pace.after(records, seconds)
        self.figures = figures_after(self.figures, reports)
        if reports or time.monotonic() >= self._mirror_at:
            self._mirror_at = time.monotonic() + _MIRROR_EVERY
            self._mirror(asynchronous=True)

    def _note_positions(self) -> None:
        """As the checkpoint has them: before the first batch, and at the end, when Spark may not have reported the last one yet."""
        with suppress(Exception):  # the JVM may be gone
            self.figures = replace(self.figures, positions={**self.figures.positions, **self._checkpoint.read_up_to()})

    def _mirror(self, asynchronous: bool) -> None:
        """8. The group's offsets, for tools; nothing depends on them."""
        offsets = [TopicPartition(*place, offset) for place, offset in self.figures.positions.items()]
        if offsets:
            with suppress(KafkaException):
                self._group.commit(offsets=offsets, asynchronous=asynchronous)

    def _renew(self) -> None:
        """What a query reads once, and the most that a batch may read, is fixed when it starts: so it starts again from where it is."""
        self._renewing = False
        if self.pace.wants_change:
            most = self.pace.change()
            told = "as many records as there are" if most is None else f"at most {most:,} records of each source"
            self.batches.notices.append(f"backpressure: starts anew, with {told} in a batch")
        manifest, compiled = self._checkpoint.manifest(), self._compiled
        try:
            compiled = self._compile(manifest) if manifest else compiled
        except WhorlError as error:
            self.batches.notices.append(f"goes on with what it has read before: {error}")
        self._compiled = compiled
        self.batches.renew(compiled)
        self.start()

    def _over(self) -> None:
        error = self.batches.raised or self._query.exception()
        if self._renewing and not self._stopping and self.batches.raised is None:
            self._renew()
        elif error is None or self._stopping:
            self._end(None)
        else:
            self._failed(self._told(error))

    def _failed(self, error: WhorlError) -> None:
        """A restart, as far as the strategy allows it and it may help."""
        restart, now = self.assignment.settings.restart, time.monotonic()
        if self.figures.batches > self._batches_before:  # else it fails at the same place, however long that takes
            self._failures = [at for at in self._failures if at >= now - restart.window]
        self._batches_before = self.figures.batches
        self._failures.append(now)
        allowed = 0 if restart.strategy == "none" else restart.attempts
        if not error.retryable or self._stopping:
            self._end(error)
        elif len(self._failures) > allowed:
            message = f"component '{self.assignment.component.id}' failed again and again: {error}"
            self._end(WorldError(message, hint="see 'restart' in the settings; --verbose shows more", code="gave-up"))
        else:
            self.restarts += 1
            self.batches.notices.append(f"starts again: {error}")
            self.state = QueryState.WAITING
            self._again_at = now + delay(restart, len(self._failures) - 1)

    # -- the end ----------------------------------------------------------------------------------------------------------------------

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def read_up_to(self, topics: Collection[str]) -> dict[tuple[str, int], int]:
        """How far batches that are done have read these topics."""
        return self._checkpoint.read_up_to(topics)

    def restart(self) -> None:
        """Anew, at the next look; the batch under way is done again."""
        if self.state is QueryState.RUNNING:
            self._query.stop()
            self.restarts += 1
            self.state, self._again_at = QueryState.WAITING, 0.0

    def stop(self) -> None:
        """Graceful: the batch under way is finished, the next one does not begin."""
        self._stopping = self.batches.stopping = True
        self._look_at = 0.0
        if self.state in (QueryState.PREPARED, QueryState.WAITING):
            self._end(None)

    def _stop_between_batches(self) -> None:
        """Where Spark itself writes, it may be stopped at any moment; else `Batches` ends the query when its batch is done."""
        self._look_at = 0.0
        by_spark = self._compiled.by_spark(self.assignment.component.delivery)
        if by_spark or not self._query.status["isTriggerActive"]:
            if self._stopping:
                self.cancel()
            else:
                self._query.stop()

    def cancel(self) -> None:
        """At once; the batch under way is done again at the next start."""
        if self.state is QueryState.RUNNING:
            with suppress(Exception):
                self._query.stop()
        self._end(self.error)

    def _end(self, error: WhorlError | None) -> None:
        self.state, self.error = QueryState.ENDED, error
        if self._has_taken and not isinstance(error, Superseded):
            with suppress(Unavailable, KafkaException):
                self._ledger.close()
        if self._has_taken:
            self._note_positions()
        self._mirror(asynchronous=False)
        self._group.close()
