"""StreamProcessor: the loop in the user's own hands, its records on executors.

The law: what `fetch` gave is given again until `commit` returns, by this process or by the next of the same group. So a record is
processed at least once, and what `process` does with it outside of Spark should bear a repetition.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from threading import Event
from types import TracebackType
from typing import Any, Self, overload

from pyspark import RDD
from pyspark.sql import Column, DataFrame, SparkSession

from whorl.config.framework import framework_settings
from whorl.errors import UsageError, WorldError
from whorl.jobs.address import clients_at
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster, Place, by_topic
from whorl.processor import frames, records
from whorl.processor.door import Door
from whorl.processor.records import Handler, Identity
from whorl.processor.retrying import Retries
from whorl.processor.session import open_session_for
from whorl.processor.settings import ProcessorSettings
from whorl.processor.signals import stopping_by_signal
from whorl.processor.spans import Bounds, Span, first_positions, gaps, refuse_shorter, span_of, waiting
from whorl.processor.stores import kept_at
from whorl.processor.used import Used
from whorl.processor.writing import write_rdd
from whorl.spark.session import close_session

log = logging.getLogger("whorl.processor")


@dataclass
class Figures:
    """Since the start; also what `GET /` of the stop port answers."""

    fetches: int = 0
    fetched: int = 0
    """Offsets in them: as many records at most."""
    commits: int = 0
    failures: int = 0
    lost: int = 0
    """Records that were gone before they were read."""
    lag: int = 0
    """Offsets behind the last fetch."""
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    """Committed: topic, partition, offset."""
    connections: dict[str, int] = field(default_factory=dict)
    """Clients that executors opened for RDDs, and how often they took one again; those of DataFrames are Spark's own."""


class StreamProcessor:
    """Subclass it, and write `process`: fetch, anything that Spark can do, commit.

    class Count(StreamProcessor):
        def process(self):
            print(self.fetch().count())
            self.commit()

    Count("orders", group="count", broker="localhost:9092").run()
    """

    def __init__(
        self, topics: str | Sequence[str], group: str, *, spark: SparkSession | None = None, **settings: Any
    ) -> None:
        """`spark`: a session that can read Kafka; without it one is opened, and closed at the end. Other keywords: `ProcessorSettings`."""
        self.topics = (topics,) if isinstance(topics, str) else tuple(topics)
        if not self.topics or not group:
            raise UsageError(
                "a StreamProcessor needs a topic and a group", hint='StreamProcessor("orders", group="shop")'
            )
        self.group, self.settings, self.figures = group, ProcessorSettings.of(settings), Figures()
        self._given = spark
        self._opened: SparkSession | None = None
        self._positions: dict[Place, int] | None = None
        self._span: Span | None = None
        self._stopping = Event()
        self._door: Door | None = None
        self._cluster = Cluster(self._clients())
        self._kept = kept_at(self.settings.offsets, group, self._cluster)

    session = staticmethod(open_session_for)
    """`StreamProcessor.session(name)`: a Spark session that can read Kafka, for several processors."""

    # -- what a subclass writes, and what it calls ------------------------------------------------------------------------------------

    def process(self) -> None:
        """Called over and over by `run`."""
        raise NotImplementedError("write a method 'process' in your subclass of StreamProcessor")

    @overload
    def fetch(self, *, distinct_by: str | Column | None = None) -> DataFrame: ...
    @overload
    def fetch(self, handler: Handler, *, distinct_by: Identity | None = None) -> RDD[Any]: ...
    def fetch(self, handler: Handler | None = None, *, distinct_by: Any = None) -> DataFrame | RDD[Any]:
        """The next records of all topics, or those of the last fetch, as long as they are not committed.

        A DataFrame of topic, partition, offset, key, value, headers, timestamp; with `handler` an RDD of what it makes of each
        `KafkaRecord`. `distinct_by` leaves one record of each id: a column or SQL expression; of an RDD a function of the record.
        """
        span = self._next()
        if handler is None:
            rows = frames.frame_of(self.spark, self._cluster.clients, self.group, span)
            return rows if distinct_by is None else frames.distinct(rows, distinct_by)
        found = records.rdd_of(self.spark.sparkContext, self._cluster.clients, span, self._used)
        return (found if distinct_by is None else records.distinct(found, distinct_by)).map(handler)

    def commit(self) -> None:
        """What was fetched is done: the next fetch goes on behind it."""
        if self._span is None:
            return
        moved = {place: end for place, end in self._span.ends.items() if self._span.starts[place] != end}
        if moved:
            self._kept.write(moved)
            self._note_commit(moved)
        self._span = None

    def write(self, what: DataFrame | RDD[Any], topic: str) -> None:
        """Stores rows or elements as records of a topic, at least once: columns key, value, headers, partition, or, where there is no
        `value`, all columns as JSON; of an RDD values, (key, value), or records that were fetched."""
        if isinstance(what, DataFrame):
            frames.write_frame(what, topic, self._cluster.clients)
        else:
            write_rdd(what, topic, self._cluster.clients, self._used)

    # -- its life ---------------------------------------------------------------------------------------------------------------------

    def run(self, until_caught_up: bool = False) -> None:
        """Until told to stop, by `stop`, a signal or HTTP: then what is being processed is finished first."""
        settings = self.settings
        retries = Retries(settings.attempts, settings.delay, settings.max_delay, self._stopping.wait)
        self._open_door()
        with self, stopping_by_signal(self.stop):
            while not self._stopping.is_set():
                before = self.figures.commits
                try:
                    self.process()
                    retries.succeeded()
                except Exception as error:
                    self.figures.failures += 1
                    retries.failed(error)
                    continue
                if self.figures.commits == before:
                    if until_caught_up and not len(self._span or Span()):
                        return
                    self._stopping.wait(settings.idle)

    def stop(self) -> None:
        """Ends `run` when the present `process` has returned. From any thread."""
        self._stopping.set()

    @property
    def stop_url(self) -> str:
        """Where `POST /stop` is heard, while it runs."""
        return self._door.url if self._door else ""

    @property
    def spark(self) -> SparkSession:
        if self._given is not None:
            return self._given
        if self._opened is None:
            settings = self.settings
            self._opened = open_session_for(self.group, settings.master, settings.spark_conf, settings.py_files)
        return self._opened

    @cached_property
    def _used(self) -> Used:
        return Used.of(self.spark.sparkContext)

    def close(self) -> None:
        """`run` does it at its end; whoever calls `fetch` without `run` does it himself, or writes `with`."""
        if self._door is not None:
            self._door.close()
            self._door = None
        self._kept.close()
        if self._opened is not None:
            close_session(self._opened)
            self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- where it is ------------------------------------------------------------------------------------------------------------------

    def _next(self) -> Span:
        if self._span is None or not len(self._span):
            self._span = self._look()
        self.figures.fetches += 1
        self.figures.fetched += len(self._span)
        return self._span

    def _look(self) -> Span:
        """Partitions and ends as they are now: of topics that have grown, too."""
        bounds = self._bounds()
        positions = self._positions_in(bounds)
        refuse_shorter(positions, bounds)
        self._tell_lost(positions, bounds)
        self._positions = positions
        span = span_of(positions, bounds, self.settings.max_messages)
        self.figures.lag = waiting(span, bounds)
        return span

    def _positions_in(self, bounds: dict[Place, Bounds]) -> dict[Place, int]:
        """`latest` is the end as it was at the first look, for good: what came since then is not passed over by a restart."""
        is_first = self._positions is None
        known = self._kept.read(bounds) if self._positions is None else self._positions
        positions = first_positions(known, bounds, self.settings.start)
        if is_first and self.settings.start == "latest" and positions.keys() - known.keys():
            self._kept.write(positions)
        return positions

    def _bounds(self) -> dict[Place, Bounds]:
        counts = self._cluster.counts_of(self.topics)
        if missing := [topic for topic in self.topics if topic not in counts]:
            hint = "create it with 'whorl topics create', or mend its name"
            raise WorldError(f"topic '{missing[0]}' does not exist", code="topic-missing", hint=hint)
        places = [(topic, partition) for topic, count in counts.items() for partition in range(count)]
        first, ends = self._cluster.earliest(places), self._cluster.stable(places)
        return {place: Bounds(first[place], max(ends[place], first[place])) for place in places}

    def _tell_lost(self, positions: dict[Place, int], bounds: dict[Place, Bounds]) -> None:
        for gap in gaps(positions, bounds):
            if self.settings.on_gap == "fail":
                hint = "on_gap='earliest' goes on without them; let the topic keep records longer"
                raise WorldError(str(gap), code="offsets-gone", hint=hint)
            self.figures.lost += gap.first - gap.wanted
            log.warning("%s; goes on there", gap)
            positions[gap.place] = gap.first

    def _note_commit(self, moved: dict[Place, int]) -> None:
        assert self._positions is not None
        self._positions.update(moved)
        self.figures.positions = by_topic(self._positions)
        self.figures.commits += 1
        if "_used" in self.__dict__:
            self.figures.connections = self._used.told()

    def _clients(self) -> KafkaClients:
        settings = framework_settings()
        kafka = {**settings.kafka, **self.settings.kafka}
        return clients_at(self.settings.broker, settings.model_copy(update={"kafka": kafka}))

    def _open_door(self) -> None:
        if self.settings.stop_port is not None and self._door is None:
            self._door = Door(self.settings.stop_host, self.settings.stop_port, self.stop, self._told)

    def _told(self) -> dict[str, Any]:
        return {**asdict(self.figures), "stopping": self._stopping.is_set()}
