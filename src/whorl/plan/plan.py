"""What will run, as printable data. `whorl plan` prints it and the runner performs the same object.

It is made without a broker: numbers that depend on the topics (logical partitions, tasks) are fixed by the layout at the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal

from whorl.config.settings import Settings
from whorl.config.spec import Combine, KafkaSource, SinkOptions, SourceOptions, Watermark
from whorl.flow.graph import Node, StreamGraph, keyed_by
from whorl.formats import FormatOptions
from whorl.operators.native import ROW_BY_ROW, Keyed, Native, Query, Unique
from whorl.operators.operator import ErrorPolicy, OperatorType
from whorl.schema import Schema

Mode = Literal["append", "update"]
"""Whether a row leaves once, when it is final, or each time it changes."""


Rounds = Literal["none", "same", "next"]
"""What the records of an output say of the round that they are in: nothing outside of a loop; on a feedback edge, the next one."""


class Host(StrEnum):
    TASKS = "tasks"
    QUERY = "query"


class Delivery(Enum):
    """How what a query component writes leaves it; a tasks component writes in Kafka's own transactions."""

    LEDGER = "ledger"
    """Exactly once into topics: `whorl.query.ledger`."""
    NATIVE = "native"
    """At least once, by Spark's own Kafka writer."""
    REALTIME = "realtime"
    """At least once, record by record, in Spark's real-time mode."""
    FILES = "files"
    """Exactly once by the log of Spark's file sink."""
    STORE = "store"
    """Batch by batch into a database, a table or a server; its sink says how often a row arrives there."""


class OutputKind(Enum):
    SINK = "sink"
    EDGE = "edge"
    VIEW = "view"
    """A console or list sink: an internal topic that the driver reads back."""
    FILE = "file"
    """A folder that Spark's file sink writes."""
    STORE = "store"
    """A database, a table or a server."""

    @property
    def is_topic(self) -> bool:
        return self not in (OutputKind.FILE, OutputKind.STORE)


@dataclass(frozen=True)
class Input:
    """What a component reads, and which of its nodes gets the records."""

    id: str
    """The source's id, or the topic's name where an edge arrives."""
    source: SourceOptions | None
    """None for an edge topic."""
    topic: str
    """An edge's topic; empty for a source, whose options say."""
    format: FormatOptions
    schema: Schema | None
    on_error: ErrorPolicy
    raw: bool = False
    """Nothing in the component looks into the value: it passes as bytes."""
    watermark: Watermark | None = None
    """Where the component goes by event time: how late rows may be."""
    feedback: bool = False
    """What comes back in a loop: it has one partition for each logical partition, and does not count for their number."""
    goes_round: bool = False
    """Its records are in a loop: those of a feedback edge, and of all other edges of the loop."""

    @property
    def is_table(self) -> bool:
        """No stream: its rows are kept to be looked up, and all that are there are read before any stream is."""
        return isinstance(self.source, KafkaSource) and self.source.table

    @property
    def is_static(self) -> bool:
        """No stream, but a table that is read as it is at the start."""
        return self.source is not None and self.source.is_static


@dataclass(frozen=True)
class Output:
    id: str
    """The sink's id, or the topic's name where an edge leaves."""
    kind: OutputKind
    topic: str
    format: FormatOptions
    schema: Schema | None
    key: tuple[str, ...] = ()
    """Columns that make the record's key; none: the key it has."""
    keyed: bool = True
    """Partition by key; else by logical partition, which keeps the order of the source."""
    sorted: bool = False
    """Leads to an operator with state: all such topics have the same number of partitions, so that a key is in the same logical partition
    whatever way it came."""
    headers: bool = True
    rounds: Rounds = "none"
    combine: tuple[tuple[str, Combine], ...] = ()
    """Of what leads back: the columns by which records of one key are merged."""
    sink: SinkOptions | None = None
    """Where more is to be known than the topic: the options of a sink that writes no topic."""


@dataclass(frozen=True)
class Placed:
    """An operator in its component, with the columns that enter it (None: not known)."""

    node: Node
    enters: Schema | None

    @property
    def native(self) -> Native | None:
        """What it is to Spark."""
        return self.node.what.native(self.enters) if isinstance(self.node.what, OperatorType) else None


@dataclass(frozen=True)
class Wire:
    """An edge in memory."""

    source: str
    target: str
    output: str = ""
    name: str = ""
    """What the target calls its source, where that is a topic."""


@dataclass(frozen=True)
class Component:
    """Operators fused into one unit of execution: one Spark job of long-running tasks, or one Structured Streaming query."""

    id: str
    host: Host
    inputs: tuple[Input, ...]
    operators: tuple[Placed, ...]
    wires: tuple[Wire, ...]
    outputs: tuple[Output, ...]
    group: str
    reason: str = ""
    """Why it is on this host."""
    mode: Mode = "append"
    """Of a query."""
    delivery: Delivery = Delivery.LEDGER
    """Of a query."""

    @property
    def raw(self) -> bool:
        """Whether nothing in it looks into the records: they pass as bytes."""
        return all(input.raw for input in self.inputs)

    @property
    def is_query(self) -> bool:
        return self.host is Host.QUERY

    @property
    def row_by_row(self) -> bool:
        """Whether each row is made of one row, so that key, timestamp and headers stay with it."""
        return all(isinstance(placed.native, ROW_BY_ROW) for placed in self.operators)

    @property
    def feedback(self) -> tuple[Input, ...]:
        """What comes back to it."""
        return tuple(input for input in self.inputs if input.feedback)

    @property
    def in_loop(self) -> bool:
        """Whether anything that leaves it comes back to it, if over others."""
        return any(output.rounds != "none" for output in self.outputs)

    @property
    def has_supersteps(self) -> bool:
        return any(placed.node.loop.supersteps for placed in self.operators)

    @property
    def tables(self) -> tuple[Input, ...]:
        return tuple(input for input in self.inputs if input.is_table)

    @property
    def published(self) -> dict[str, str]:
        """By operator: the topic that shows what it keeps."""
        return {placed.node.id: placed.node.publish for placed in self.operators if placed.node.publish}

    @property
    def kept(self) -> dict[str, tuple[str, ...]]:
        """Of tasks: the operators with state, and the columns by which they keep it (none: the key of records)."""
        keys = {placed.node.id: keyed_by(placed.node) for placed in self.operators if self.host is Host.TASKS}
        return {id: key for id, key in keys.items() if key is not None}

    @property
    def keyed(self) -> tuple[str, ...]:
        """Of a query: the operators that keep state by key as they would in tasks."""
        return tuple(placed.node.id for placed in self.operators if self.is_query and isinstance(placed.native, Keyed))

    @property
    def versions(self) -> dict[str, int]:
        """Of what its operators with state keep, where it is not the first."""
        those = ((placed.node.id, placed.node.what) for placed in self.operators if placed.node.id in self.kept)
        return {id: what.version for id, what in those if isinstance(what, OperatorType) and what.version != 1}

    @property
    def types(self) -> dict[str, str]:
        """Of its operators with state."""
        those = ((placed.node.id, placed.node.what) for placed in self.operators if placed.node.id in self.kept)
        return {id: what.type for id, what in those if isinstance(what, OperatorType)}

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """Of its operators with state: the names of what they keep."""
        those = [placed for placed in self.operators if placed.node.id in self.kept]
        return {
            placed.node.id: placed.node.what.states(placed.enters)
            for placed in those
            if isinstance(placed.node.what, OperatorType)
        }

    def migrates(self, operator: str) -> bool:
        """Whether it can read what earlier versions of it have kept."""
        those = [placed.node.what for placed in self.operators if placed.node.id == operator]
        return any(isinstance(what, OperatorType) and what.migrates for what in those)

    @property
    def keeps_state(self) -> bool:
        return bool(self.kept)

    def standbys(self, settings: Settings, tasks: int) -> int:
        """Long tasks beside those that work, of which each follows the state of one."""
        return tasks * settings.state.standby if self.keeps_state else 0

    @property
    def stateful(self) -> bool:
        """Whether a query keeps anything between batches."""
        return any(self._keeps(placed) for placed in self.operators)

    def _keeps(self, placed: Placed) -> bool:
        native = placed.native
        if isinstance(native, Query):
            return native.aggregates or (native.joins and not self._with_static(placed))
        return isinstance(native, Unique | Keyed)

    def _with_static(self, placed: Placed) -> bool:
        """Whether it reads one stream, and tables that stay as they are."""
        static = {input.id for input in self.inputs if input.is_static}
        read = [wire.source for wire in self.wires if wire.target == placed.node.id]
        return bool(static & set(read)) and sum(source not in static for source in read) == 1


@dataclass(frozen=True)
class Cut:
    """An edge that became a topic, and why."""

    source: str
    target: str
    topic: str
    reason: str
    output: str = ""


@dataclass(frozen=True)
class Plan:
    pipeline: str
    graph: StreamGraph
    components: tuple[Component, ...]
    cuts: tuple[Cut, ...]
    dead_letter: str
    settings: Settings

    @property
    def queries(self) -> list[Component]:
        return [component for component in self.components if component.is_query]

    @property
    def outputs(self) -> list[Output]:
        return [output for component in self.components for output in component.outputs]

    def edges_into(self, component: Component) -> tuple[str, ...]:
        """The topics that it reads and other components write."""
        edges = {output.topic for output in self.outputs if output.kind is OutputKind.EDGE}
        return tuple(input.topic for input in component.inputs if input.topic in edges)

    def loop_of(self, component: Component) -> list[Component]:
        """The components through which what leaves this one may come back to it, itself among them; itself alone where there is no loop."""
        ahead, behind = self._reached(component, True), self._reached(component, False)
        return [each for each in self.components if each is component or (each.id in ahead and each.id in behind)]

    def _reached(self, start: Component, forward: bool) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            one = waiting.pop()
            near = [each for each in self.components if _writes_for(*((one, each) if forward else (each, one)))]
            waiting += [each for each in near if each.id not in seen]
            seen |= {each.id for each in near}
        return seen

    def cogroups(self, component: Component) -> bool:
        """Whether a key of several of its topics is in one logical partition: as the setting says; a stream and the table it looks into
        always are together."""
        return self.settings.cogroup or bool(component.tables)

    def on(self, host: Host) -> list[Component]:
        return [component for component in self.components if component.host is host]

    def matching(self, pattern: str, topics: Iterable[str]) -> tuple[str, ...]:
        """The topics that a source's pattern names. What the pipeline itself writes is none: it would feed itself."""
        own = {self.dead_letter, *(output.topic for output in self.outputs)}
        found = (name for name in topics if re.fullmatch(pattern, name) and name not in own)
        return tuple(sorted(name for name in found if not name.startswith(("__", "whorl."))))

    def upstream(self, component: Component) -> list[Component]:
        """Components that write what this one reads, without what comes back."""
        topics = {input.topic for input in component.inputs if input.topic and not input.feedback}
        return [other for other in self.components if topics & {output.topic for output in other.outputs}]


def _writes_for(one: Component, other: Component) -> bool:
    return bool({output.topic for output in one.outputs if output.topic} & {input.topic for input in other.inputs})
