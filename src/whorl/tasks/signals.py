"""What passes between a task's loop and its reporter thread: orders one way, figures the other. Plain attributes, one writer each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from whorl.operators.record import Message
from whorl.state.timers import Timer
from whorl.tasks.layout import Place
from whorl.tasks.readings import Reading

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
    """Of a standby: why it does not follow."""
    read: int = 0
    written: int = 0
    dead: int = 0
    skipped: int = 0
    retried: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    restarts: int = 0
    lag: int = 0
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
    committed: dict[Place, int] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    """What is read, or was, before the first record: state, tables."""
    current: Message | None = None
    """The record that is being processed."""
    many: bool = False
    """It is the first of a bulk that is processed as one."""

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
            "restarts",
            "lag",
            "round",
            "messages",
            "sent",
            "active",
            "timers",
        )
        positions: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in list(self.committed.items()):
            positions.setdefault(topic, {})[str(partition)] = offset
        readings = {what: reading.snapshot() for what, reading in list(self.readings.items())}
        return {**{name: getattr(self, name) for name in names}, "positions": positions, "readings": readings}
