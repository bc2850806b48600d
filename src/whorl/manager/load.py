"""How busy this process and its children are, as a share of one core."""

from __future__ import annotations

import os
import time
from pathlib import Path


class Load:
    def __init__(self) -> None:
        self._at, self._ticks = time.monotonic(), 0
        self._tick = os.sysconf("SC_CLK_TCK")

    def share(self) -> float:
        """Since it was asked last."""
        now, ticks = time.monotonic(), sum(_ticks(pid) for pid in _session())
        took, worked = now - self._at, max(ticks - self._ticks, 0) / self._tick
        first, self._at, self._ticks = not self._ticks, now, ticks
        return 0.0 if first or took <= 0 else round(worked / took, 3)


def _session() -> list[int]:
    """Processes of the session that a task manager is the head of; Spark's and its workers' are in it."""
    head, found = str(os.getsid(0)), []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == head:
            found.append(int(stat.parent.name))
    return found


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
