"""A pipeline under test: records in, run, rows out. No Spark, no broker, no waiting; crashes where you want them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from whorl.config.codes import suggest
from whorl.config.loader import Loaded, load
from whorl.config.spec import KafkaSource, ListSource, RateSource
from whorl.errors import UsageError
from whorl.flow.check import checked
from whorl.flow.user_code import user_modules
from whorl.formats import codec
from whorl.operators.record import Row
from whorl.plan.plan import Component, Input, Output, OutputKind, Plan
from whorl.plan.planner import make_plan
from whorl.schema import Schema
from whorl.testing.clock import ManualClock
from whorl.testing.ground import Ground, survey
from whorl.testing.memory import Entry, Faults, MemoryBroker, MemoryClients
from whorl.testing.process import Process
from whorl.testing.records import DeadLetter, Given, as_dead_letter, as_given, encoder, key_of, typed


class PipelineHarness:
    """Runs a pipeline in memory, with the same driver and task loop as on Spark.

        harness = PipelineHarness("pipeline.yaml")
        harness.send("orders", [{"id": 1, "amount": 20.0}])
        harness.run()
        assert harness.sink("totals") == [{"id": 1, "total": 24.0}]

    Sources start at their first record. `list` sources have their own rows until others are sent, `rate` sources none. With
    several partitions, rows of a sink come partition by partition.
    """

    def __init__(
        self,
        pipeline: Plan | Loaded | str | os.PathLike[str],
        broker: MemoryBroker | None = None,
        faults: Faults | None = None,
        partitions: int = 1,
        tasks: int = 1,
    ) -> None:
        loaded = load(pipeline) if isinstance(pipeline, str | os.PathLike) else pipeline
        self._home = loaded.spec.home if isinstance(loaded, Loaded) else None
        self.plan = make_plan(checked(loaded), loaded.settings) if isinstance(loaded, Loaded) else loaded
        _in_memory(self.plan)
        self.clock = ManualClock()
        self.broker = broker or MemoryBroker(self.clock)
        self.faults = faults or Faults()
        """Those of the last run, or of the next one if there was none yet; `faults.points` are the crash points it passed."""
        self._fresh_faults = True
        self._partitions = partitions
        self._tasks = tasks
        self._made: dict[str, list[Given]] = {}
        """Records for sources that are no topic."""
        self.ground()

    # -- in ---------------------------------------------------------------------------------------------------------------------------

    def send(self, source: str, records: Iterable[Row | Given], topic: str | None = None) -> None:
        """Writes rows, or whole records, for a source to read. `topic` says which, where it reads several."""
        input = self._input(source)
        if not isinstance(input.source, KafkaSource):
            self._made.setdefault(source, []).extend(as_given(record) for record in records)
            if any(not isinstance(given.value, dict) for given in self._made[source]):
                raise UsageError(f"source '{source}' is no topic and takes rows only", hint="give it maps", code="row")
            return
        name, encode = self._topic(source, input.source, topic), encoder(input)
        producer = MemoryClients(self.broker).producer()
        for given in map(as_given, records):
            key, headers = key_of(given, input.source.key), list((given.headers or {}).items())
            producer.produce(name, encode(given), key, timestamp=given.timestamp or 0, headers=headers)
        producer.flush()

    def schema(self, source: str) -> Schema | None:
        """The columns of a source's rows; None where they are not known."""
        return self._input(source).schema

    def _input(self, source: str) -> Input:
        inputs = {i.id: i for component in self.plan.components for i in component.inputs if i.source is not None}
        if source not in inputs:
            raise UsageError(
                f"the pipeline has no source '{source}'", hint=suggest(source, inputs, "sources"), code="source"
            )
        return inputs[source]

    def _topic(self, id: str, source: KafkaSource, topic: str | None) -> str:
        if topic is None and not source.names:
            raise UsageError(
                f"source '{id}' reads a pattern of topics", hint="say which: send(..., topic=...)", code="topic"
            )
        name = topic or source.names[0]
        if name not in self.broker.topics():
            self.broker.create_topic(name, self._partitions)
        return name

    # -- run --------------------------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Until everything sent so far is processed; raises what made the pipeline fail. A second run goes on where the first one ended."""
        with self.user_code():
            process = self.process()
            process.start()
            process.work()
            process.end()

    def crash_at(self, point: int, hold: bool = False) -> None:
        """The next run dies, with `Crash`, at this call of a Kafka client (counted from 1); the one after it is undisturbed."""
        self.faults, self._fresh_faults = Faults(crash_at=point, hold=hold), True

    def process(self) -> Process:
        """The next life of the pipeline, not yet started: for tests that take its steps one by one."""
        if not self._fresh_faults:
            self.faults = Faults()
        self._fresh_faults = False
        return Process(self.ground(), self.clock, self.faults)

    def ground(self) -> Ground:
        """The plan on its broker; missing topics are made."""
        components = tuple(self._with_made(component) for component in self.plan.components)
        return survey(replace(self.plan, components=components), self.broker, self._partitions, self._tasks)

    @contextmanager
    def user_code(self) -> Iterator[None]:
        """Imports inside see the folder of the pipeline file; `run` has it around itself."""
        with user_modules(self._home) if self._home else nullcontext():
            yield

    def _with_made(self, component: Component) -> Component:
        return replace(component, inputs=tuple(self._with_rows(input) for input in component.inputs))

    def _with_rows(self, input: Input) -> Input:
        if input.id not in self._made and not isinstance(input.source, RateSource):
            return input
        given = self._made.get(input.id, [])
        rows = tuple(typed(one.value, input.schema) for one in given if isinstance(one.value, dict))
        keys = tuple(key.decode() if key else None for key in (key_of(one, ()) for one in given))
        return replace(input, source=ListSource(rows=rows, keys=keys))

    # -- out --------------------------------------------------------------------------------------------------------------------------

    def sink(self, id: str) -> list[Row | None]:
        """The rows that a sink got, committed ones only; None for a record without a value."""
        output = self.output(id)
        decode = codec(output.format, output.schema).decode
        return [decode(entry.value) for entry in self.records(id)]

    def records(self, sink: str) -> list[Entry]:
        """The records that a sink got, committed ones only, with key, headers, timestamp, partition and offset."""
        return self.broker.records(self.output(sink).topic)

    def dead(self) -> list[DeadLetter]:
        """The records that failed."""
        return [as_dead_letter(entry) for entry in self.broker.records(self.plan.dead_letter)]

    def output(self, sink: str) -> Output:
        outputs: dict[str, Any] = {o.id: o for o in self.plan.outputs if o.kind is not OutputKind.EDGE}
        if sink not in outputs:
            raise UsageError(f"the pipeline has no sink '{sink}'", hint=suggest(sink, outputs, "sinks"), code="sink")
        found: Output = outputs[sink]
        return found


def _in_memory(plan: Plan) -> None:
    """Raises where the pipeline has a part that only Spark runs."""
    if plan.queries:
        raise UsageError(
            f"component '{plan.queries[0].id}' runs in a query, which needs Spark",
            hint="try it with 'whorl dev' or 'whorl run --until-caught-up'; 'whorl plan' says why it is a query",
            code="host",
        )
