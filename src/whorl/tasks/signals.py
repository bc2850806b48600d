"""What passes between a task's loop and its reporter thread: orders one way, figures the other. Plain attributes, one writer each."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from whorl.histogram import Recent
from whorl.operators.record import Message
from whorl.state.timers import Timer
from whorl.tasks.layout import Place
from whorl.tasks.readings import Reading

_GAPS_TOLD = 20
OPENING = "opening "
"""How the step is called in which an operator is opened: its id stands behind."""


@dataclass
class Orders:
    """Written by the reporter, read by the loop between bulks."""

    stopping: bool = False
    skip: dict[tuple[str, int, int], str] = field(default_factory=dict)
    """(topic, partition, offset) of records on which this operator never returned: they go to its error policy untried. No operator:
    a bulk that began there was too slow, so its records are tried one by one. For a timer see `timer_position`."""


def timer_position(timer: Timer) -> tuple[str, int, int]:
    """What stands for the place of a record, of which a timer has none."""
    return f"timer of {timer.operator} for {timer.key!r}", -1, timer.time


@dataclass
class Figures:
    """Written by the loop, read by the reporter."""

    step: str = "starting"
    trouble: str = ""
    """What a task waits for, Kafka's answer mostly; of a standby: why it does not follow."""
    read: int = 0
    written: int = 0
    dead: int = 0
    skipped: int = 0
    retried: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    waited: float = 0.0
    """Seconds in which there was nothing to do."""
    restarts: int = 0
    lag: int = 0
    behind: dict[Place, int] = field(default_factory=dict)
    """The lag of each place, where there is one."""
    round: int = 0
    """Of a loop: the highest of any record so far."""
    messages: int = 0
    """Of a loop: records that have gone round."""
    sent: int = 0
    """Of a loop: records that were sent back, or wait to be processed in memory."""
    active: int = 0
    """Of a loop: keys to which anything came round in the last transaction."""
    timers: int = 0
    """Logical partitions in which one is set that goes off by the clock."""
    state_keys: int = 0
    state_bytes: int = 0
    """What is kept: values, entries of maps, timers."""
    watermark: int | None = None
    """Event time that has come, ms since 1970."""
    committed: dict[Place, int] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    """What is read, or was, before the first record: state, tables."""
    latency: Recent = field(default_factory=lambda: Recent(time.monotonic))
    """From the timestamps of records to the commit that holds them."""
    rate_limit: float = 0.0
    """Records a second that backpressure allows; 0: no bound."""
    connections: dict[str, int] = field(default_factory=dict)
    """Clients of Kafka that are open, and those opened since the start."""
    current: Message | None = None
    """The record that is being processed."""
    many: bool = False
    """It is the first of a bulk that is processed as one."""
    lost: int = 0
    """Records that were gone from Kafka before they were read."""
    gaps: list[str] = field(default_factory=list)
    """The last of these, in words."""

    def note_gap(self, told: str, records: int) -> None:
        self.lost += records
        self.gaps = [*self.gaps, told][-_GAPS_TOLD:]

    def snapshot(self) -> dict[str, Any]:
        """Positions are set last and read first: all else is of the same commit or of a later one."""
        names = (
            "step",
            "trouble",
            "read",
            "written",
            "dead",
            "skipped",
            "retried",
            "commits",
            "commit_seconds",
            "waited",
            "restarts",
            "lag",
            "round",
            "messages",
            "sent",
            "active",
            "timers",
            "state_keys",
            "state_bytes",
            "watermark",
            "rate_limit",
            "lost",
            "gaps",
        )
        positions: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in list(self.committed.items()):
            positions.setdefault(topic, {})[str(partition)] = offset
        readings = {what: reading.snapshot() for what, reading in list(self.readings.items())}
        behind = {f"{topic}/{partition}": lag for (topic, partition), lag in list(self.behind.items())}
        latency = {str(bucket): round(count, 2) for bucket, count in self.latency.buckets().items()}
        told = {
            "positions": positions,
            "readings": readings,
            "behind": behind,
            "latency": latency,
            "connections": dict(self.connections),
        }
        return {**{name: getattr(self, name) for name in names}, **told}
