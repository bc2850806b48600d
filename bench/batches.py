"""The batches of a Structured Streaming query as its checkpoint shows them: the same view of every system, from outside.

A batch is over when Spark writes it into `commits`; how far it had read stands in `offsets`. From one commit to the next is
all that a batch costs, what the system does between two batches included.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.failures import TooSlow


@dataclass(frozen=True, slots=True)
class Batch:
    number: int
    at: float
    """When it was committed."""
    end: int
    """Records read by then, over all partitions."""


class BatchLog:
    """Spark keeps the last hundred batches, so this is looked at now and then while the query runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._commits: Path | None = None
        self._seen: dict[int, Batch] = {}

    def look(self) -> list[Batch]:
        """All batches so far, in order."""
        self._commits = self._commits or next(self._folder.glob("**/commits"), None)
        for commit in self._commits.iterdir() if self._commits else ():
            if commit.name.isdigit() and int(commit.name) not in self._seen:
                self._seen[int(commit.name)] = _batch(commit)
        return [self._seen[number] for number in sorted(self._seen)]


def rate(batches: Sequence[Batch], warm_up: float) -> float:
    """Records/s from the first commit past the share `warm_up` of all records to the one with the last record."""
    mark, last = _steady(batches, warm_up)
    return (last.end - mark.end) / (last.at - mark.at)


def cycles_ms(batches: Sequence[Batch], warm_up: float) -> list[float]:
    """Milliseconds from commit to commit, of the batches that `rate` is about."""
    mark, last = _steady(batches, warm_up)
    times = [batch.at for batch in batches if mark.number <= batch.number <= last.number]
    return [1000 * (after - before) for before, after in itertools.pairwise(times)]


def _steady(batches: Sequence[Batch], warm_up: float) -> tuple[Batch, Batch]:
    total = max(batch.end for batch in batches)
    mark = next(batch for batch in batches if batch.end >= warm_up * total)
    last = next(batch for batch in batches if batch.end == total)
    if last.number <= mark.number:
        raise TooSlow("the run was over before it was warm: give it more --records")
    return mark, last


def _batch(commit: Path) -> Batch:
    offsets = (commit.parent.parent / "offsets" / commit.name).read_text().splitlines()
    ends = [_sum(line) for line in offsets[2:]]
    return Batch(int(commit.name), commit.stat().st_mtime, sum(ends))


def _sum(line: str) -> int:
    """`{"topic": {"0": 17, "1": 16}}`, one line a source."""
    return sum(offset for partitions in json.loads(line).values() for offset in partitions.values())
