"""What rules look at: how each component of a pipeline has done, from the first sample to the last. Only numbers, and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Sample:
    """A component at one moment. Totals are since its start."""

    at: float
    read: int = 0
    written: int = 0
    dead: int = 0
    lag: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    batch: int = -1
    """Of a query: the last one."""
    batch_seconds: float = 0.0
    state_rows: int = 0
    late: int = 0


@dataclass(frozen=True)
class ComponentEvidence:
    id: str
    host: str
    """tasks or query."""
    samples: tuple[Sample, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)
    """Records read between the first sample and the last, by topic/partition."""
    keeps_state: bool = False
    bounded: bool | None = None
    """Whether its state has an end: a ttl, a limit, a watermark. None: not known."""
    state_partitions: int | None = None
    """Of a query with state."""

    @property
    def seconds(self) -> float:
        return self.samples[-1].at - self.samples[0].at if self.samples else 0.0

    def grown(self, figure: str) -> float:
        """Between the first sample and the last."""
        return float(getattr(self.samples[-1], figure) - getattr(self.samples[0], figure)) if self.samples else 0.0

    @cached_property
    def batches(self) -> tuple[Sample, ...]:
        """The first sample of each batch."""
        first = {sample.batch: sample for sample in reversed(self.samples) if sample.batch >= 0}
        return tuple(first[batch] for batch in sorted(first))


@dataclass(frozen=True)
class Files:
    """A folder that the pipeline reads or writes."""

    id: str
    path: str
    count: int
    size: int
    """Bytes in all."""
    written: bool


@dataclass(frozen=True)
class Evidence:
    pipeline: str
    components: tuple[ComponentEvidence, ...] = ()
    trigger: float | None = None
    """Seconds between batches; None: as fast as possible."""
    heap: tuple[float, ...] = ()
    """Share of the driver's memory that was in use, by time."""
    files: tuple[Files, ...] = ()
    dead_letter: str = ""
    cores: int = 1


@dataclass(frozen=True)
class Advice:
    rule: str
    component: str
    finding: str
    """What is wrong, in a sentence."""
    evidence: str
    """The numbers that say so."""
    setting: str
    """What to change."""
    change: str
    """And how."""
