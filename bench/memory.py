"""Memory of Whorl's whole process tree at full speed, sampled while a feeder keeps it busy.

The feeder stays at most `AHEAD` records before what Whorl has written, and both topics are cut behind it, so the disk
stays small.
"""

from __future__ import annotations

import itertools
import threading
import time
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from statistics import median
from uuid import uuid4

from bench import records
from bench.cluster import add_broker_option, address
from bench.failures import ProcessFailed
from bench.measure import growth_per_minute
from bench.peers import Work
from bench.processes import Process, memory_mb
from bench.topics import Topics
from bench.whorl_side import Whorl

SAMPLE_S = 10
AHEAD = 400_000
BULK = 100_000
WARM_UP = 0.2
EDGE = 3


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10, help="how long it runs at full speed")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    name = f"memory-{uuid4().hex[:8]}"
    source, sink = f"{name}-in", f"{name}-out"
    with address(options.broker) as broker, ExitStack() as stack:
        topics = Topics(broker)
        topics.create(source, sink)
        stack.callback(topics.delete, source, sink)
        (whorl,) = Whorl("forward.yaml").start(Work(broker, name, source, sink), stack)
        feeder = Feeder(topics, source, sink)
        stack.callback(feeder.stop)
        samples = _sampled(whorl, feeder, options.minutes * 60)
    warm = samples[int(len(samples) * WARM_UP) :]
    first, last = (median(value for _, value in part) for part in (warm[:EDGE], warm[-EDGE:]))
    print(f"memory start_mb={first:.0f} end_mb={last:.0f} growth_mb_per_min={growth_per_minute(warm):.2f}")
    return 0


class Feeder:
    """Fills the source as fast as the sink follows, in a thread of its own."""

    def __init__(self, topics: Topics, source: str, sink: str) -> None:
        self._topics, self._source, self._sink = topics, source, sink
        self._stopped = threading.Event()
        self.sent = self.written = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def check(self) -> None:
        if not self._thread.is_alive():
            raise ProcessFailed("the feeder died")

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        for part in itertools.count(1):
            self.written = self._topics.committed_end(self._sink)
            while self.sent - self.written > AHEAD and not self._stopped.wait(0.05):
                self.written = self._topics.committed_end(self._sink)
            if self._stopped.is_set():
                return
            self.sent += self._topics.load(self._source, records.plain(BULK))
            if part % 10 == 0:
                self._cut()

    def _cut(self) -> None:
        """What lies more than `AHEAD` behind the source's end is surely read: nobody reads the sink at all."""
        self._topics.drop_before(self._sink, self._topics.ends(self._sink))
        ends = self._topics.ends(self._source)
        self._topics.drop_before(self._source, [(partition, end - 2 * AHEAD) for partition, end in ends])


def _sampled(whorl: Process, feeder: Feeder, seconds: float) -> list[tuple[float, float]]:
    """(seconds, MB), from the first output on."""
    while not feeder.written:
        whorl.check()
        time.sleep(0.2)
    started, samples, before = time.monotonic(), [], 0
    while (at := time.monotonic() - started) < seconds:
        whorl.check()
        feeder.check()
        samples.append((at, memory_mb(whorl.members())))
        print(
            f"memory {at:5.0f} s  {samples[-1][1]:7.0f} MB  {(feeder.written - before) / SAMPLE_S:>9,.0f} records/s",
            flush=True,
        )
        before = feeder.written
        time.sleep(SAMPLE_S)
    return samples
