"""Looks now and then whether records still have the columns that were pinned, and says what has changed, each thing once.

It samples the topics, so it costs a running pipeline nothing, whatever hosts it runs on. What is done with each record that drifted, the
source's `drift` says and its decoder does; only `add` is carried out here: new columns join the pin, for the next start.
"""

from __future__ import annotations

from collections.abc import Callable

from whorl.config.sources import KafkaSource
from whorl.jobs.periodic import Periodic
from whorl.kafka.topics import Cluster
from whorl.plan.plan import Input, Plan
from whorl.schema import Schema
from whorl.schemas.drift import Drift, drifts, widened
from whorl.schemas.published import Entry, pin, publish
from whorl.schemas.sampling import of_values, topic_values

EVERY = 10.0
_SAMPLE = 100
_TOLD = {
    "ignore": "it is left out; `drift: add` takes it in",
    "add": "it is read from the next start on",
    "dead_letter": "such records go to the dead-letter topic",
    "fail": "such a record ends the run",
}


class DriftWatch:
    """`say` is called with each thing that is found."""

    def __init__(self, cluster: Cluster, plan: Plan, say: Callable[[str], None], every: float = EVERY) -> None:
        self._cluster, self._pipeline, self._say = cluster, plan.pipeline, say
        self._inputs = [input for component in plan.components for input in component.inputs if watched(input)]
        self._pins = {input.id: input.schema for input in self._inputs}
        self._seen: set[tuple[str, Drift]] = set()
        self._periodic = Periodic("whorl-drift", self.look, every)

    def start(self) -> DriftWatch:
        if self._inputs:
            self._periodic.start()
        return self

    def close(self) -> None:
        if self._inputs:
            self._periodic.close()

    def look(self) -> None:
        """Once, at all sources."""
        for input in self._inputs:
            self._look_at(input)

    def _look_at(self, input: Input) -> None:
        source, pinned = input.source, self._pins[input.id]
        if not isinstance(source, KafkaSource) or pinned is None:
            return
        values = topic_values(self._cluster, source.names, _SAMPLE)
        new = [each for each in drifts(pinned, of_values(values, input.format)) if (input.id, each) not in self._seen]
        for each in new:
            self._seen.add((input.id, each))
            self._say(f"schema drift in source '{input.id}': {each}; {_becomes(each, source)}")
        if source.drift == "add" and any(each.kind == "new" for each in new):
            self._add(input.id, widened(pinned, new))

    def _add(self, source: str, schema: Schema) -> None:
        self._pins = {**self._pins, source: schema}
        entry = Entry.declared(schema, f"grown by drift of source '{source}'")
        publish(self._cluster, {pin(self._pipeline, source): entry})


def watched(input: Input) -> bool:
    source = input.source
    return isinstance(source, KafkaSource) and source.watches and input.schema is not None and bool(source.names)


def _becomes(drift: Drift, source: KafkaSource) -> str:
    if drift.kind == "new" or source.drift in ("dead_letter", "fail"):
        return _TOLD[source.drift or "ignore"]
    return f"what does not fit goes by `on_error: {source.on_error.action}`"
