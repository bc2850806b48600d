"""Why a benchmark gives no figure.

BenchFailed
├── ProcessFailed   a process ended, hung or left others behind
├── TooSlow         records or a start did not come in time
├── WrongCount      the sink does not hold what the source and the work give
└── FeederFailed    the records did not reach the source: the benchmark itself is void

Skipped             a peer cannot run here; the others still do
"""

from __future__ import annotations


class BenchFailed(Exception):
    pass


class ProcessFailed(BenchFailed):
    pass


class TooSlow(BenchFailed):
    pass


class WrongCount(BenchFailed):
    pass


class FeederFailed(BenchFailed):
    pass


class Skipped(Exception):
    pass
