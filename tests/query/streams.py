"""Pipelines with state on both hosts: as a query of several batches, and in tasks, in memory."""

from __future__ import annotations

from collections.abc import Iterable
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

    def frame(self, session: SparkSession, input: Input) -> DataFrame:
        reader = session.readStream.schema(HIDDEN).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._topic(input)))

    def query(self) -> dict[str, list[Any]]:
        """Another run, which goes on where the last one ended. By topic: what all of them have written."""
        compiled = self.compiled()
        assert compiled.written is not None

        def take(frame: DataFrame, batch: int) -> None:
            for row in frame.collect():
                self._written.setdefault(compiled.topics[row.output], []).append(as_record(row))

        writer = compiled.written.writeStream.foreachBatch(take).outputMode(self.component.mode)
        writer = writer.option("checkpointLocation", self.checkpoint.path)
        for _ in range(ATTEMPTS):
            error = _ended(writer.trigger(availableNow=True).start())
            if error is None:
                return self._written
            if TOO_SLOW not in str(error):
                raise error
        raise AssertionError(TOO_SLOW)

    def same(self) -> dict[str, list[Any]]:
        """What both have written: of each key in the same order, and dead letters in any."""
        self.harness.run()
        tasks, query = written_by(self.harness), self.query()
        topics = [output.topic for output in self.plan.outputs]
        for topic in [*topics, self.plan.dead_letter]:
            expected, given = by_key(tasks[topic]), by_key(query.get(topic, []))
            if topic == self.plan.dead_letter:
                expected, given = _in_any_order(expected), _in_any_order(given)
            assert given == expected, f"{topic}: {given}\nin tasks {expected}"
        return {topic: [parsed(record) for record in tasks[topic]] for topic in [*topics, self.plan.dead_letter]}

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


def _ended(running: Any) -> Exception | None:
    """What ended it, if not that all is read."""
    try:
        assert running.awaitTermination(WAIT), "the query does not end"
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
