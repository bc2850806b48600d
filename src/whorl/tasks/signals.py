"""What passes between a task's loop and its reporter thread: orders one way, figures the other. Plain attributes, one writer each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from whorl.operators.record import Message
from whorl.state.timers import Timer
from whorl.tasks.layout import Place


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
    read: int = 0
    written: int = 0
    dead: int = 0
    skipped: int = 0
    retried: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    restarts: int = 0
    restored: int = 0
    """Records of the changelog that were read to have the state again; those that a local copy has need not be."""
    restore_seconds: float = 0.0
    lag: int = 0
    committed: dict[Place, int] = field(default_factory=dict)
    current: Message | None = None
    """The record that is being processed."""
    many: bool = False
    """It is the first of a bulk that is processed as one."""

    def snapshot(self) -> dict[str, Any]:
        names = (
            "step",
            "read",
            "written",
            "dead",
            "skipped",
            "retried",
            "commits",
            "commit_seconds",
            "restarts",
            "restored",
            "restore_seconds",
            "lag",
        )
        positions: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in list(self.committed.items()):
            positions.setdefault(topic, {})[str(partition)] = offset
        return {**{name: getattr(self, name) for name in names}, "positions": positions}
