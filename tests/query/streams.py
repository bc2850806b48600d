"""Pipelines with state on both hosts: as a query of several batches, and in tasks, in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hosts import HIDDEN, AtRest, as_record, parsed, written_by
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from whorl.operators.record import Row
from whorl.plan.plan import Input
from whorl.query.checkpoint import Checkpoint, Manifest
from whorl.query.pins import session_settings
from whorl.reading.entries import Entry
from whorl.reading.queries import QueryReader
from whorl.reading.reader import StateReader
from whorl.reading.where import Stores, stores_of
from whorl.testing import Given, PipelineHarness
from whorl.testing.memory import MemoryClients

WAIT = 180
ATTEMPTS, TOO_SLOW = 3, "Python worker failed to connect back"
"""Spark waits ten seconds for a process to start; where a machine is too busy for that, it is tried again, as by a pipeline."""
SETTINGS = {
    **{name: value for name, value in session_settings().items() if not name.startswith("spark.stage")},
    "spark.sql.shuffle.partitions": "1",
}


class Streamed(AtRest):
    """`HOST` in the text stands for the host; what is sent at once is a batch of the query."""

    def __init__(self, session: SparkSession, folder: Path, text: str) -> None:
        for host in ("query", "tasks"):
            (folder / f"{host}.yaml").write_text(text.replace("HOST", host))
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        super().__init__(session, folder / "query.yaml")
        self.harness = PipelineHarness(folder / "tasks.yaml", partitions=2)
        self._folder = folder
        self.checkpoint = Checkpoint.of(session, str(folder), self.plan.pipeline, "uid", self.component.id)
        self.checkpoint.write(Manifest(self.plan.pipeline, self.component.id, "uid", "", ()))
        self._stored: set[tuple[str, int, int]] = set()
        self._written: dict[str, list[Any]] = {}

    def send(self, source: str, records: Iterable[Row | Given]) -> None:
        self.harness.send(source, records)
        (input,) = (input for input in self.component.inputs if input.id == source)
        topic = input.source.names[0]
        there = {(topic, each.partition, each.offset): each for each in self.harness.broker.records(topic)}
        rows = [
            (e.key, e.key, e.value, topic, e.partition, e.offset, e.timestamp, [*e.headers] or None)
            for place, e in there.items()
            if place not in self._stored
        ]
        self._stored |= set(there)
        # Backwards: an operator with state must get them in their own order all the same.
        frame = self.session.createDataFrame(rows[::-1], HIDDEN).coalesce(1)
        frame.write.mode("append").parquet(str(self._topic(input)))

    def turn(self, **sent: Iterable[Row | Given]) -> None:
        """A batch of all sources, some of which may have nothing; tasks have read it before the next one is sent."""
        for input in self.component.inputs:
            self.send(input.id, sent.get(input.id, ()))
        self.harness.run()

    def frame(self, session: SparkSession, input: Input) -> DataFrame:
        reader = session.readStream.schema(HIDDEN).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._topic(input)))

    def query(self, awaited: int = 0) -> dict[str, list[Any]]:
        """Another run, which goes on where the last one ended. By topic: what all of them have written. `awaited`: how many records, before
        one that goes by the clock is stopped, which Spark never ends."""
        compiled = self.compiled()
        assert compiled.written is not None

        def take(frame: DataFrame, batch: int) -> None:
            for row in frame.collect():
                self._written.setdefault(compiled.topics[row.output], []).append(as_record(row))

        def enough() -> bool:
            return compiled.endless and sum(map(len, self._written.values())) >= awaited

        writer = compiled.written.writeStream.foreachBatch(take).outputMode(self.component.mode)
        writer = writer.option("checkpointLocation", self.checkpoint.path)
        for _ in range(ATTEMPTS):
            error = _ended(writer.trigger(availableNow=True).start(), enough)
            if error is None:
                return self._written
            if TOO_SLOW not in str(error):
                raise error
        raise AssertionError(TOO_SLOW)

    def same(self) -> dict[str, list[Any]]:
        """What both have written: of each key in the same order, and dead letters in any."""
        written = self._by_both()
        for topic, (tasks, query) in written.items():
            expected, given = by_key(tasks), by_key(query)
            if topic == self.plan.dead_letter:
                expected, given = _in_any_order(expected), _in_any_order(given)
            assert given == expected, f"{topic}: {given}\nin tasks {expected}"
        return {topic: [*map(parsed, tasks)] for topic, (tasks, _) in written.items()}

    def same_rows(self) -> dict[str, list[Any]]:
        """What both have written, where only key and row can be the same, in any order."""
        written = self._by_both()
        for topic, both in written.items():
            expected, given = (sorted((parsed(record)[1:3] for record in side), key=repr) for side in both)
            assert given == expected, f"{topic}: {given}\nin tasks {expected}"
        return {topic: [*map(parsed, tasks)] for topic, (tasks, _) in written.items()}

    def _by_both(self) -> dict[str, tuple[list[Any], list[Any]]]:
        """By topic: what tasks and the query have written, when all that was sent is read."""
        self.harness.run()
        tasks, topics = (
            written_by(self.harness),
            [*(output.topic for output in self.plan.outputs), self.plan.dead_letter],
        )
        query = self.query(awaited=sum(len(tasks[topic]) for topic in topics))
        return {topic: (tasks[topic], query.get(topic, [])) for topic in topics}

    def kept(self, operator: str) -> tuple[list[Entry], list[Entry]]:
        """What it keeps in tasks, and in the query."""
        broker, name = self.harness.broker, self.plan.pipeline
        counts = {topic: len(each.logs) for topic, each in broker.topics().items()}
        clients = MemoryClients(broker)
        tasks = StateReader(clients, stores_of(clients, counts, name), lambda: round(self.harness.clock() * 1000))
        query = QueryReader(self.session, self.stores, str(self._folder))
        return list(tasks.scan(operator)), list(query.scan(operator))

    @property
    def stores(self) -> Stores:
        return Stores(
            self.plan.pipeline, "uid", (), (self.component.id,), dict.fromkeys(self.component.keyed, self.component.id)
        )

    def _topic(self, input: Input) -> Path:
        return self._folder / "topics" / input.id


def _ended(running: Any, enough: Callable[[], bool]) -> Exception | None:
    """What ended it, if not that all is read, or enough is written."""
    deadline = time.monotonic() + WAIT
    try:
        while not enough() and not running.awaitTermination(0.2):
            assert time.monotonic() < deadline, "the query does not end"
    except StreamingQueryException as error:
        return error
    finally:
        running.stop()
    return None


def by_key(records: Iterable[tuple[Any, ...]]) -> dict[bytes | None, list[Any]]:
    found: dict[bytes | None, list[Any]] = {}
    for record in records:
        found.setdefault(record[1], []).append(parsed(record))
    return found


def _in_any_order(records: dict[bytes | None, list[Any]]) -> dict[bytes | None, list[Any]]:
    return {key: sorted(each, key=repr) for key, each in records.items()}
