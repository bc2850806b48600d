"""Which task owns which logical partitions, and so which partitions of which topics.

The number of logical partitions (lps) is fixed at a component's first start; partition p of every topic belongs to lp p mod lps. A
layout only says how many tasks host them, and has a number: the higher one is in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd

Place = tuple[str, int]


@dataclass(frozen=True)
class Layout:
    number: int
    tasks: int
    lps: int

    def lp_of(self, partition: int) -> int:
        return partition % self.lps

    def lps_of(self, task: int) -> range:
        return range(task, self.lps, self.tasks)

    def task_of(self, lp: int) -> int:
        return lp % self.tasks

    def places_of(self, task: int, partitions: Mapping[str, int]) -> list[Place]:
        """The topic partitions that this task reads."""
        return [
            (topic, partition)
            for topic, count in partitions.items()
            for partition in range(count)
            if self.lp_of(partition) % self.tasks == task
        ]


def logical_partitions(counts: Iterable[int], most: int | None, cogroup: bool = False) -> int:
    """The largest partition count, or with `cogroup` the highest common factor, so that a key of several topics is in one lp; `most` caps
    it at its highest divisor that fits."""
    listed = list(counts) or [1]
    wanted = gcd(*listed) if cogroup else max(listed)
    if most is None or most >= wanted:
        return wanted
    return next(divisor for divisor in range(most, 0, -1) if wanted % divisor == 0)
