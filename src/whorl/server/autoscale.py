"""How many tasks a job should have by its lag. A function of what was seen, so that it can be proved without a cluster.

More tasks, one step, when the lag has been above the bound for a while; fewer when it has been near nothing for a long while and the tasks
had little to do. Never twice within `REST` seconds: a rescale itself makes lag.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whorl.config.settings import Autoscale
from whorl.server.schemas import Sample

UP_AFTER = 10.0
DOWN_AFTER = 60.0
REST = 60.0
_IDLE_LAG = 0.1
_IDLE_BUSY = 0.3


@dataclass(frozen=True)
class Now:
    """What is known of a job."""

    tasks: int
    scaled_at: float
    at: float
    largest: int
    """No component has more logical partitions than this."""


def wanted_tasks(rule: Autoscale, samples: Sequence[Sample], now: Now) -> int:
    """The number of tasks that each component should have; as it is, where nothing speaks for another."""
    most = max(min(rule.max, now.largest), rule.min)
    if not rule.min <= now.tasks <= most:
        return min(max(now.tasks, rule.min), most)
    if now.at - now.scaled_at < REST:
        return now.tasks
    if now.tasks < most and _all(samples, now, UP_AFTER, lambda sample: sample.lag > rule.lag):
        return min(max(now.tasks * 2, now.tasks + 1), most)
    if now.tasks > rule.min and _all(samples, now, DOWN_AFTER, lambda sample: _is_idle(rule, sample)):
        return max(now.tasks - 1, rule.min)
    return now.tasks


def _is_idle(rule: Autoscale, sample: Sample) -> bool:
    return sample.lag <= rule.lag * _IDLE_LAG and sample.busy < _IDLE_BUSY


def _all(samples: Sequence[Sample], now: Now, seconds: float, holds: Callable[[Sample], bool]) -> bool:
    """Whether it held all the time since so long ago, and samples reach as far back, all of them after the last rescale."""
    since = now.at - seconds
    recent = [sample for sample in samples if sample.at >= since]
    reaches = any(now.scaled_at < sample.at <= since + 2.0 for sample in samples)
    return bool(recent) and reaches and all(holds(sample) for sample in recent)
