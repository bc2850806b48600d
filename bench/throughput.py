"""Records/s of one system over one loaded topic, seen from outside: by the sink topic's committed end.

The figure starts at the warm-up mark, so neither start-up nor compilation is in it, and is only given if the sink holds
exactly the records that it should, and ends for some keys with the values that it should.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import uuid4

from confluent_kafka import Message

from bench.failures import Skipped, WrongCount
from bench.measure import ratio, steady_rate, watch
from bench.peers import System, Work
from bench.processes import Process
from bench.topics import Topics

TIMEOUT_S = 300
SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A loaded topic, how many records it has, and how many of them the work lets through."""

    name: str
    topic: str
    records: int
    expected: int
    last: Mapping[bytes, bytes] = field(default_factory=dict)
    """Of some keys, the value that must come out last."""


@dataclass(frozen=True, slots=True)
class Run:
    system: str
    rate: float
    """Source records/s in the steady part."""
    note: str = ""


def ready(systems: Sequence[System]) -> list[System]:
    """Those that can run here; says why of the others."""
    able = []
    for system in systems:
        try:
            system.prepare()
            able.append(system)
        except Skipped as reason:
            print(f"{system.name} {SKIPPED}: {reason}")
    return able


def load(topics: Topics, name: str, source: Iterable[tuple[bytes, bytes]]) -> str:
    """The new topic that holds the records."""
    topic = f"{name}-{uuid4().hex[:8]}"
    topics.create(topic)
    topics.load(topic, source)
    return topic


def measure(system: System, scenario: Scenario, topics: Topics) -> Run:
    name = f"{system.name}-{scenario.name}-{uuid4().hex[:8]}"
    topics.create(name)
    try:
        with ExitStack() as stack:
            processes = system.start(Work(topics.address, name, scenario.topic, name), stack)
            samples = watch(lambda: topics.committed_end(name), scenario.expected, lambda: _check(processes), TIMEOUT_S)
            note = system.describe(processes)
        check_sink(topics.read(name), scenario, name)
        return Run(system.name, steady_rate(samples) * scenario.records / samples[-1].end, note)
    finally:
        topics.delete_of(name)


def interleaved(systems: Sequence[System], scenarios: Sequence[Scenario], topics: Topics, runs: int) -> list[Run]:
    """Every system `runs` times, in turns, so that a slow moment of the machine hits all alike."""
    return [
        _reported(measure(system, scenario, topics), scenario, number)
        for number in range(1, runs + 1)
        for system, scenario in zip(systems, scenarios, strict=True)
    ]


def compared(runs: Sequence[Run], peer: str, name: str = "whorl") -> str:
    """How many times as fast as its peer a system is, by medians."""
    ours, theirs = ([run.rate for run in runs if run.system == each] for each in (name, peer))
    return f"{ratio(ours, theirs):.2f}" if ours and theirs else SKIPPED


def _reported(run: Run, scenario: Scenario, number: int) -> Run:
    print(
        f"{scenario.name:8} run {number}  {run.system:14} {run.rate:>10,.0f} records/s  {run.note}".rstrip(), flush=True
    )
    return run


def _check(processes: Sequence[Process]) -> None:
    for process in processes:
        process.check()


def check_sink(messages: Iterable[Message], scenario: Scenario, name: str) -> None:
    found, last = 0, dict[bytes, bytes]()
    for message in messages:
        found += 1
        if (key := message.key()) in scenario.last:
            last[key] = message.value()
    if found != scenario.expected:
        raise WrongCount(f"'{name}' holds {found:,} records, {scenario.expected:,} were due")
    for key, due in scenario.last.items():
        if last.get(key) != due:
            raise WrongCount(f"'{name}' ends with {last.get(key)!r} for the key {key!r}, {due!r} was due")
