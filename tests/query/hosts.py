"""A pipeline on both hosts: in memory as the tasks host runs it, and as frames at rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
from pyspark.sql import DataFrame, SparkSession

from whorl.plan.plan import Component, Input, OutputKind
from whorl.query import frames
from whorl.query.compile import Compiled, compile_component
from whorl.query.read import Reading
from whorl.testing import PipelineHarness

HIDDEN = (
    f"{frames.KEY} binary, {frames.CAME} binary, {frames.VALUE} binary, {frames.TOPIC} string, {frames.PARTITION} int, "
    f"{frames.OFFSET} long, {frames.TIME} long, {frames.HEADERS} {frames.HEADER_TYPE}"
)


def local(frame: DataFrame) -> DataFrame:
    """The same rows as a local relation, so that no Python worker is needed to read them."""
    session = frame.sparkSession
    return DataFrame(session._jsparkSession.createDataFrame(frame._jdf.collectAsList(), frame._jdf.schema()), session)


def kafka_frame(session: SparkSession, harness: PipelineHarness, input: Input) -> DataFrame:
    """The records of an input as Spark's Kafka source would give them."""
    names = input.source.names if input.source is not None else (input.topic,)
    rows = [
        (e.key, e.key, e.value, topic, e.partition, e.offset, e.timestamp, [*e.headers] or None)
        for topic in names
        for e in harness.broker.records(topic)
    ]
    return local(session.createDataFrame(rows, HIDDEN))


class Both:
    def __init__(self, session: SparkSession, harness: PipelineHarness) -> None:
        self.session, self.harness = session, harness

    @property
    def component(self) -> Component:
        (component,) = self.harness.plan.components
        return component

    def reading(self) -> Reading:
        names = [output.topic for output in self.component.outputs if output.kind is not OutputKind.FILE]
        counts = {topic: 2 for topic in [*names, self.harness.plan.dead_letter]}
        inputs = {i.id: (i.topic or i.source.names) for i in self.component.inputs if i.topic or i.source.type == "kafka"}
        return Reading("", inputs, {}, counts, self.harness.plan.dead_letter)

    def compiled(self) -> Compiled:
        with self.harness.user_code():
            return compile_component(self.session, self.component, self.reading(), lambda *_: None)

    def query(self) -> dict[str, list[Any]]:
        """By topic: what a query writes."""
        compiled = self.compiled()
        written: dict[str, list[Any]] = {topic: [] for topic in compiled.topics}
        assert compiled.written is not None
        with self.harness.user_code():
            rows = compiled.written.collect()
        for row in rows:
            fields = row.asDict()
            headers = tuple((h["key"], _bytes(h["value"])) for h in fields.get("headers") or ())
            record = (fields["partition"], _bytes(row.key), _bytes(row.value), fields.get("timestamp"), headers)
            written[compiled.topics[row.output]].append(record)
        return written

    def tasks(self) -> dict[str, list[Any]]:
        self.harness.run()
        topics = {output.topic: output for output in self.harness.plan.outputs}
        written = {}
        for topic in [*topics, self.harness.plan.dead_letter]:
            keyed = topic not in topics or topics[topic].keyed
            written[topic] = [
                (None if keyed else e.partition, e.key, e.value, e.timestamp, tuple(e.headers))
                for e in self.harness.broker.records(topic)
            ]
        return written

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

    def with_kind(self, kind: OutputKind) -> None:
        """All its outputs of another kind."""
        (component,) = self.harness.plan.components
        outputs = tuple(replace(output, kind=kind) for output in component.outputs)
        self.harness.plan = replace(self.harness.plan, components=(replace(component, outputs=outputs),))


def comparable(written: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {topic: sorted(map(_parsed, records), key=repr) for topic, records in written.items()}


def _parsed(record: tuple[Any, ...]) -> tuple[Any, ...]:
    partition, key, value, timestamp, headers = record
    shown = tuple((name, data if name != "whorl-error" else b"...") for name, data in headers)
    try:
        value = orjson.loads(value)
    except (ValueError, TypeError):
        pass
    return partition, key, value, timestamp, shown


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
