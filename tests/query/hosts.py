"""Pipelines over records at rest: as a query makes them, and as the tasks host does in memory."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from pyspark.sql import DataFrame, SparkSession

from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.flow.user_code import user_modules
from whorl.operators.record import Row
from whorl.plan.plan import Component, Input, OutputKind
from whorl.plan.planner import make_plan
from whorl.query import frames
from whorl.query.compile import Compiled, compile_component
from whorl.query.errors import Places
from whorl.query.read import Reading
from whorl.testing import Given, PipelineHarness
from whorl.testing.records import as_given, encoder, key_of

HIDDEN = (
    f"{frames.KEY} binary, {frames.CAME} binary, {frames.VALUE} binary, {frames.TOPIC} string, {frames.PARTITION} int, "
    f"{frames.OFFSET} long, {frames.TIME} long, {frames.HEADERS} {frames.HEADER_TYPE}"
)
NOON = 1_767_268_800_000


@dataclass(frozen=True)
class Stored:
    """A record of a topic, as the broker in memory has it too."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]


def local(frame: DataFrame) -> DataFrame:
    """The same rows as a local relation, so that no Python worker is needed to read them."""
    session = frame.sparkSession
    return DataFrame(session._jsparkSession.createDataFrame(frame._jdf.collectAsList(), frame._jdf.schema()), session)


class AtRest:
    """The one component of a pipeline as a query, over records that were sent."""

    def __init__(self, session: SparkSession, file: Path) -> None:
        loaded = load(file)
        self.session, self.file = session, file
        self.plan = make_plan(checked(loaded), loaded.settings)
        self.topics: dict[str, list[Any]] = {}

    @property
    def component(self) -> Component:
        (component,) = self.plan.components
        return component

    def send(self, source: str, records: Iterable[Row | Given]) -> None:
        (input,) = (input for input in self.component.inputs if input.id == source)
        stored = self.topics.setdefault(input.source.names[0], [])
        encode = encoder(input)
        for given in map(as_given, records):
            headers = tuple((name, data and data.encode()) for name, data in (given.headers or {}).items())
            key = key_of(given, input.source.key)
            stored.append(Stored(key, encode(given), 0, len(stored), given.timestamp or NOON, headers))

    def frame(self, session: SparkSession, input: Input) -> DataFrame:
        """As Spark's Kafka source would give it."""
        rows = [
            (e.key, e.key, e.value, topic, e.partition, e.offset, e.timestamp, [*e.headers] or None)
            for topic in input.source.names
            for e in self.topics.get(topic, [])
        ]
        return local(session.createDataFrame(rows, HIDDEN))

    def reading(self) -> Reading:
        names = [output.topic for output in self.component.outputs if output.kind is not OutputKind.FILE]
        counts = dict.fromkeys([*names, self.plan.dead_letter], 2)
        inputs = {i.id: i.source.names for i in self.component.inputs if i.source.type == "kafka"}
        return Reading("", inputs, {}, counts, self.plan.dead_letter)

    def compiled(self, places: Places = lambda *_: None) -> Compiled:
        with user_modules(str(self.file)):
            return compile_component(self.session, self.component, self.reading(), places)

    def query(self) -> dict[str, list[Any]]:
        """By topic: what a query writes."""
        compiled = self.compiled()
        written: dict[str, list[Any]] = {topic: [] for topic in compiled.topics}
        assert compiled.written is not None
        for row in compiled.written.collect():
            written[compiled.topics[row.output]].append(as_record(row))
        return written

    def with_kind(self, kind: OutputKind) -> None:
        """All its outputs of another kind."""
        outputs = tuple(replace(output, kind=kind) for output in self.component.outputs)
        self.plan = replace(self.plan, components=(replace(self.component, outputs=outputs),))


class Both(AtRest):
    """The same on the tasks host, too."""

    def __init__(self, session: SparkSession, file: Path) -> None:
        super().__init__(session, file)
        self.harness = PipelineHarness(file, partitions=2)

    def send(self, source: str, records: Iterable[Row | Given]) -> None:
        self.harness.send(source, records)
        topics = [topic for input in self.component.inputs for topic in input.source.names]
        self.topics = {topic: self.harness.broker.records(topic) for topic in topics}

    def tasks(self) -> dict[str, list[Any]]:
        self.harness.run()
        return written_by(self.harness)

    def same(self) -> dict[str, list[Any]]:
        """What both write, in any order; JSON as objects, and of errors only that there is one."""
        tasks, query = comparable(self.tasks()), comparable(self.query())
        differences = [
            f"{topic}: {side} alone has {record}"
            for topic in tasks
            for side, one, other in (("tasks", tasks, query), ("query", query, tasks))
            for record in one[topic]
            if record not in other[topic]
        ]
        assert not differences, "\n" + "\n".join(differences)
        assert query == tasks
        return tasks


def written_by(harness: PipelineHarness) -> dict[str, list[Any]]:
    """By topic: what the tasks have written, as `as_record` has it."""
    topics = {output.topic: output for output in harness.plan.outputs}
    written = {}
    for topic in [*topics, harness.plan.dead_letter]:
        keyed = topic not in topics or topics[topic].keyed
        written[topic] = [
            (None if keyed else e.partition, e.key, e.value, e.timestamp, tuple(e.headers))
            for e in harness.broker.records(topic)
        ]
    return written


def as_record(row: Any) -> tuple[Any, ...]:
    """Of a row that is to be written: partition, key, value, timestamp, headers."""
    fields = row.asDict()
    headers = tuple((h["key"], _bytes(h["value"])) for h in fields.get("headers") or ())
    return fields["partition"], _bytes(row.key), _bytes(row.value), fields.get("timestamp"), headers


def comparable(written: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {topic: sorted(map(parsed, records), key=repr) for topic, records in written.items()}


def parsed(record: tuple[Any, ...]) -> tuple[Any, ...]:
    partition, key, value, timestamp, headers = record
    shown = tuple((name, data if name != "whorl-error" else b"...") for name, data in headers)
    with suppress(ValueError, AttributeError):
        # Spark writes all six digits of a time.
        value = orjson.loads(value.replace(b".000000Z", b"Z"))
    return partition, key, value, timestamp, shown


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
