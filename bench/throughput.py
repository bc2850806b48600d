"""Records/s of one system over one loaded topic, seen from outside: by the sink topic's committed end.

The figure starts at the warm-up mark, so neither start-up nor compilation is in it, and is only given if the sink holds
exactly the records that it should.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import uuid4

from bench.failures import WrongCount
from bench.measure import steady_rate, watch
from bench.peers import System, Work
from bench.processes import Process
from bench.topics import Topics

TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Scenario:
    """A loaded topic, how many records it has, and how many of them the work lets through."""

    name: str
    topic: str
    records: int
    expected: int


@dataclass(frozen=True, slots=True)
class Run:
    system: str
    rate: float
    """Source records/s in the steady part."""
    note: str = ""


def measure(system: System, scenario: Scenario, topics: Topics) -> Run:
    name = f"{system.name}-{scenario.name}-{uuid4().hex[:8]}"
    topics.create(name)
    try:
        with ExitStack() as stack:
            processes = system.start(Work(topics.address, name, scenario.topic, name), stack)
            samples = watch(lambda: topics.committed_end(name), scenario.expected, lambda: _check(processes), TIMEOUT_S)
            note = system.describe(processes)
        _check_count(topics.count(name), scenario, name)
        return Run(system.name, steady_rate(samples) * scenario.records / scenario.expected, note)
    finally:
        topics.delete(name)


def interleaved(systems: Sequence[System], scenarios: Sequence[Scenario], topics: Topics, runs: int) -> list[Run]:
    """Every system `runs` times, in turns, so that a slow moment of the machine hits all alike."""
    return [
        _reported(measure(system, scenario, topics), scenario, number)
        for number in range(1, runs + 1)
        for system, scenario in zip(systems, scenarios, strict=True)
    ]


def _reported(run: Run, scenario: Scenario, number: int) -> Run:
    print(
        f"{scenario.name:8} run {number}  {run.system:14} {run.rate:>10,.0f} records/s  {run.note}".rstrip(), flush=True
    )
    return run


def _check(processes: Sequence[Process]) -> None:
    for process in processes:
        process.check()


def _check_count(found: int, scenario: Scenario, name: str) -> None:
    if found != scenario.expected:
        raise WrongCount(f"'{name}' holds {found:,} records, {scenario.expected:,} were due")
