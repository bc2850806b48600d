"""SQL, windows, small batches and real-time mode beside the same work in hand-written PySpark.

Equal on both sides: the machine and its broker, the topics, `local[n]`, heap, stack size and collector of the JVM, adaptive
execution off, time zone, shuffle partitions, state store and its settings, records per batch, watermark and output mode,
`read_committed`. Every run is a process of its own, with a name and a checkpoint of its own; the sides take turns.

Throughput and the time of a batch are read off Spark's own checkpoint (`bench.batches`), from commit to commit, after the
warm-up, and count only if the sink then holds exactly the records that it should. Latency is from produce to consume by the
clock of one process, both sides up, in turns.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from uuid import uuid4

from bench import records
from bench.batches import Batch, BatchLog, cycles_ms, rate
from bench.cluster import add_broker_option, address
from bench.failures import TooSlow, WrongCount
from bench.peers import Work
from bench.processes import Process, cpu_seconds, temporary_folder
from bench.query_sides import Bare, QueryWork, Side, WhorlQuery, slots_for_batches
from bench.realtime import realtime_ratio
from bench.throughput import SKIPPED, load
from bench.topics import Topics

PARTS = ("sql", "window", "batch", "realtime")
WARM_UP = 0.3
LOOK_S = 0.2
TIMEOUT_S = 300
SMALL = 100
Figures = dict[str, list[float]]
"""Of each side, one of every run."""


@dataclass(frozen=True, slots=True)
class Job:
    """A loaded topic, and what is done with it."""

    name: str
    topic: str
    records: int
    expected: int
    max_per_batch: int


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=1_200_000, help="records of the topics of sql and window")
    parser.add_argument("--max-per-batch", type=int, default=100_000, help="records of one batch there")
    parser.add_argument("--batches", type=int, default=200, help=f"how many small batches, of {SMALL} records each")
    parser.add_argument("--runs", type=int, default=3, help="how often each side runs")
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part alone; may be repeated")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    parts = options.only or PARTS
    once = exactly = window = overhead = realtime = SKIPPED
    with address(options.broker) as broker:
        topics = Topics(broker)
        if "sql" in parts:
            figures = _sql(topics, options)
            once, exactly = (f"{against_bare(figures, name):.2f}" for name in ("at_least_once", "exactly_once"))
        if "window" in parts:
            window = f"{against_bare(_window(topics, options), 'exactly_once'):.2f}"
        if "batch" in parts:
            figures = _small(topics, options)
            overhead = f"{median(figures['exactly_once']) - median(figures['bare']):.0f}"
        if "realtime" in parts:
            realtime = f"{realtime_ratio(broker, options.runs):.2f}"
    print(
        f"query at_least_once/bare={once} exactly_once/bare={exactly} window/bare={window}"
        f" batch_overhead_ms={overhead} realtime/bare={realtime}"
    )
    return 0


def _sql(topics: Topics, options: Namespace) -> Figures:
    count = options.records
    job = loaded(topics, "sql", records.json(count), count, records.kept(count), options.max_per_batch)
    sides: list[Side] = [
        Bare("sql"),
        WhorlQuery("query_sql.yaml", "at_least_once"),
        WhorlQuery("query_sql.yaml", "exactly_once"),
    ]
    return in_turns(sides, job, topics, options.runs, throughput)


def _window(topics: Topics, options: Namespace) -> Figures:
    count = options.records
    job = loaded(topics, "window", records.timed(count), count, records.closed(count), options.max_per_batch)
    sides: list[Side] = [Bare("window"), WhorlQuery("query_window.yaml", "exactly_once")]
    return in_turns(sides, job, topics, options.runs, throughput)


def _small(topics: Topics, options: Namespace) -> Figures:
    count = SMALL * options.batches
    job = loaded(topics, "batch", records.json(count), count, records.kept(count), SMALL)
    sides: list[Side] = [Bare("batch"), WhorlQuery("query_sql.yaml", "exactly_once")]
    return in_turns(sides, job, topics, options.runs, _batch_ms)


def throughput(batches: Sequence[Batch]) -> tuple[float, str]:
    return rate(batches, WARM_UP), "records/s"


def _batch_ms(batches: Sequence[Batch]) -> tuple[float, str]:
    return median(cycles_ms(batches, WARM_UP)), "ms a batch"


def against_bare(figures: Figures, name: str) -> float:
    return median(figures[name]) / median(figures["bare"])


def loaded(
    topics: Topics, name: str, source: Iterable[tuple[bytes, bytes]], count: int, expected: int, most: int
) -> Job:
    return Job(name, load(topics, name, source), count, expected, most)


def in_turns(
    sides: Sequence[Side],
    job: Job,
    topics: Topics,
    runs: int,
    figure: Callable[[Sequence[Batch]], tuple[float, str]],
) -> Figures:
    figures: Figures = {side.name: [] for side in sides}
    for number in range(1, runs + 1):
        for side in sides:
            batches, note = _run(side, job, topics)
            value, unit = figure(batches)
            figures[side.name].append(value)
            print(f"{job.name:8} run {number}  {side.name:14} {value:>10,.0f} {unit}  {note}".rstrip(), flush=True)
    return figures


def _run(side: Side, job: Job, topics: Topics) -> tuple[list[Batch], str]:
    """The batches of one run over the whole topic, and what the run says of itself."""
    name = f"{side.name.replace('_', '-')}-{job.name}-{uuid4().hex[:8]}"
    topics.create(name)
    with ExitStack() as stack:
        stack.callback(topics.delete, name)
        with ExitStack() as running:
            checkpoints = temporary_folder(stack)
            work = Work(topics.address, name, job.topic, name)
            query = QueryWork(work, checkpoints, slots_for_batches(), job.max_per_batch)
            process = side.start(query, running)
            batches, cpu = _watched(BatchLog(checkpoints), job.records, process)
            _await_rows(topics, name, job.expected, process)
            note = f"{cpu:6.1f} us CPU a record  {side.describe(process)}"
        if (found := topics.count(name)) != job.expected:
            raise WrongCount(f"'{name}' holds {found:,} records, {job.expected:,} were due")
    return batches, note


def _watched(log: BatchLog, count: int, process: Process) -> tuple[list[Batch], float]:
    """Until the batch with the last record is committed; with the microseconds of CPU that a record took after the warm-up,
    which say more than the clock where the machine has other work."""
    deadline = time.monotonic() + TIMEOUT_S
    spent: list[tuple[int, float]] = []
    while not spent or spent[-1][0] < count:
        time.sleep(LOOK_S)
        process.check()
        if batches := log.look():
            spent.append((batches[-1].end, cpu_seconds(process.members())))
        if time.monotonic() > deadline:
            raise TooSlow(f"{spent[-1][0] if spent else 0:,} of {count:,} records after {TIMEOUT_S} s")
    warm, before = next(sample for sample in spent if sample[0] >= WARM_UP * count)
    return batches, 1e6 * (spent[-1][1] - before) / max(1, count - warm)


def _await_rows(topics: Topics, sink: str, expected: int, process: Process) -> None:
    """A window that the last record closes leaves with a batch of its own."""
    deadline = time.monotonic() + TIMEOUT_S
    while topics.committed_end(sink) < expected:
        process.check()
        if time.monotonic() > deadline:
            raise TooSlow(f"'{sink}' does not hold {expected:,} records after {TIMEOUT_S} s more")
        time.sleep(LOOK_S)
