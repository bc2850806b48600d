"""What will run, as printable data. `whorl plan` prints it and the runner performs the same object.

It is made without a broker: numbers that depend on the topics (logical partitions, tasks) are fixed by the layout at the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from whorl.config.settings import Settings
from whorl.config.spec import SourceOptions
from whorl.formats import FormatOptions
from whorl.graph.graph import Node, StreamGraph
from whorl.operators.operator import ErrorPolicy
from whorl.schema import Schema


class Host(Enum):
    TASKS = "tasks"


class OutputKind(Enum):
    SINK = "sink"
    EDGE = "edge"
    VIEW = "view"
    """A console or list sink: an internal topic that the driver reads back."""


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
    headers: bool = True


@dataclass(frozen=True)
class Placed:
    """An operator in its component, with the columns that enter it (None: not known)."""

    node: Node
    enters: Schema | None


@dataclass(frozen=True)
class Wire:
    """An edge in memory."""

    source: str
    target: str
    output: str = ""


@dataclass(frozen=True)
class Component:
    """Operators fused into one unit of execution: one Spark job of long-running tasks."""

    id: str
    host: Host
    inputs: tuple[Input, ...]
    operators: tuple[Placed, ...]
    wires: tuple[Wire, ...]
    outputs: tuple[Output, ...]
    group: str

    @property
    def raw(self) -> bool:
        """Whether nothing in it looks into the records: they pass as bytes."""
        return all(input.raw for input in self.inputs)


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
    def outputs(self) -> list[Output]:
        return [output for component in self.components for output in component.outputs]

    def matching(self, pattern: str, topics: Iterable[str]) -> tuple[str, ...]:
        """The topics that a source's pattern names. What the pipeline itself writes is none: it would feed itself."""
        own = {self.dead_letter, *(output.topic for output in self.outputs)}
        found = (name for name in topics if re.fullmatch(pattern, name) and name not in own)
        return tuple(sorted(name for name in found if not name.startswith(("__", "whorl."))))

    def upstream(self, component: Component) -> list[Component]:
        """Components that write what this one reads."""
        topics = {input.topic for input in component.inputs if input.topic}
        return [other for other in self.components if topics & {output.topic for output in other.outputs}]
