"""What is read off a run: the steady rate from the warm-up mark to the last record, and the middle of several runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.failures import TooSlow

WARM_UP = 0.25
INTERVAL_S = 0.05
SETTLED_S = 1.5


@dataclass(frozen=True, slots=True)
class Sample:
    at: float
    end: int


def watch(end: Callable[[], int], expected: int, check: Callable[[], None], timeout: float) -> list[Sample]:
    """Samples from now until `expected` is reached and the end no longer moves. `check` raises if the run has died."""
    samples = [Sample(time.monotonic(), end())]
    started = moved = samples[0].at
    while samples[-1].end < expected or samples[-1].at - moved < SETTLED_S:
        time.sleep(INTERVAL_S)
        samples.append(Sample(time.monotonic(), end()))
        if samples[-1].end != samples[-2].end:
            moved = samples[-1].at
        if samples[-1].end < expected:
            check()
        if samples[-1].at - started > timeout:
            raise TooSlow(f"{samples[-1].end:,} of {expected:,} records after {timeout:g} s")
    return samples


def steady_rate(samples: Sequence[Sample], warm_up: float = WARM_UP) -> float:
    """Records/s from the first sample past the warm-up share to the first sample at the final end."""
    final = samples[-1].end
    mark = next(sample for sample in samples if sample.end >= warm_up * final)
    last = next(sample for sample in samples if sample.end == final)
    if last.at <= mark.at:
        raise TooSlow("the run was over before it was warm: give it more --records")
    return (last.end - mark.end) / (last.at - mark.at)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(ours) / median(theirs)


def growth_per_minute(samples: Sequence[tuple[float, float]]) -> float:
    """Least-squares slope of (seconds, value), per minute."""
    times, values = [at for at, _ in samples], [value for _, value in samples]
    mid_time, mid_value = sum(times) / len(times), sum(values) / len(values)
    spread = sum((at - mid_time) ** 2 for at in times)
    return 60 * sum((at - mid_time) * (value - mid_value) for at, value in samples) / spread if spread else 0.0
