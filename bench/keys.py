"""What the number of keys kept costs: commits that touch 1,000 keys, memory, and the start with and without a local copy of the state.

A running count and sum is kept for 10,000 keys and then for 10,000,000, each brought there by a record of its own through the pipeline, in
scattered order. Figures of commits and restores are those that the tasks report of themselves, starts are seen from outside.

    commit_ratio          median duration of a commit with the many keys, against that with the few
    memory_mb             peak of what is the workers' own, of all tasks together; pages of the local copy, which the kernel maps and takes
                          back as it likes, are told beside it
    bootstrap_keys_per_s  changelog to copy on an empty disk, all tasks together
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any
from uuid import uuid4

from bench import records
from bench.cluster import add_broker_option, address
from bench.failures import ProcessFailed
from bench.peers import Work
from bench.processes import Process, cpu_seconds, resident_mb, temporary_folder
from bench.sequences import Feeder
from bench.start import seconds_until
from bench.topics import Topics
from bench.whorl_side import run_whorl, workers
from whorl.plan import naming

FEW = 10_000
TASKS = 2
TOUCHED = 1000
COMMITS_PER_S = 10
WARM_UP_S = 5
LOADED_S = 1800
MEMORY_MB = 128


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--keys", type=int, default=10_000_000, help="how many keys the large one keeps")
    parser.add_argument("--seconds", type=int, default=20, help="how long commits are looked at")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    with address(options.broker) as broker, ExitStack() as stack:
        few, many = (Counted(broker, keys, stack) for keys in (FEW, options.keys))
        few.load()
        many.load()
        commits = [side.commits(options.seconds) for side in (few, many)]
        empty, fitting = Counted(broker, FEW, stack).start_empty(), many.start_again()
        bootstrap = many.bootstrap()
    ratio = median(commits[1]) / median(commits[0])
    print(f"keys start with no state {empty:.1f} s, with a fitting copy {fitting:.1f} s: {fitting / empty:.2f} times")
    print(f"keys peak of {TASKS} workers with {FEW:,} keys: {few.peak}")
    print(f"keys peak of {TASKS} workers: {many.peak}, bound {TASKS} x {MEMORY_MB} MB for values that are used often")
    print(
        f"keys {FEW}->{options.keys} commit_ratio={ratio:.2f} memory_mb={many.peak.own:.0f} bootstrap_keys_per_s={bootstrap:.0f}"
    )
    return 0


@dataclass
class Peak:
    """Of the workers' memory, in MB; and the seconds of CPU that those of the last run took."""

    own: float = 0.0
    resident: float = 0.0
    cpu: float = 0.0

    def take(self, process: Process) -> None:
        found = workers(process)
        self.cpu = cpu_seconds(found) or self.cpu
        self.own = max(self.own, resident_mb(found, "RssAnon"))
        self.resident = max(self.resident, resident_mb(found))

    def __str__(self) -> str:
        return f"{self.own:.0f} MB of their own, {self.resident:.0f} MB with mapped pages of the copies"


class Counted:
    """The pipeline of the count benchmark, with its topics, its state and how much memory it took."""

    def __init__(self, broker: str, keys: int, stack: ExitStack) -> None:
        name = f"keys-{keys}-{uuid4().hex[:6]}"
        self._work = Work(broker, name, f"{name}-in", f"{name}-out")
        self._keys, self._topics = keys, Topics(broker)
        self._folder = temporary_folder(stack)
        self._copies = self._folder / "copies"
        self._news = News(broker, name)
        self._topics.create(self._work.source, self._work.sink)
        self.peak = Peak()

    def load(self) -> None:
        """One record for each key."""
        started = time.monotonic()
        self._topics.load(self._work.source, map(self._touch, range(self._keys)))
        loaded = time.monotonic()
        with self._running("--until-caught-up") as whorl:
            if code := whorl.wait(LOADED_S):
                raise ProcessFailed(f"the keys were not taken in, exit code {code}; the log:\n{whorl.tail()}")
        print(
            f"keys {self._keys:,} fed in {loaded - started:.0f} s, kept in {time.monotonic() - loaded:.0f} s",
            flush=True,
        )

    def commits(self, seconds: int) -> list[float]:
        """Their durations in ms, while every task has a thousand keys to each, also where the machine does not keep up."""
        bounds = ("--set", f"commit_records={TOUCHED}", "--set", f"bulk_records={TOUCHED}")
        with self._running(*bounds) as whorl, self._fed(TOUCHED * COMMITS_PER_S * TASKS):
            self._until_output(whorl, self._topics.committed_end(self._work.sink), time.monotonic())
            time.sleep(WARM_UP_S)
            since = time.time()
            time.sleep(seconds)
            whorl.check()
        found = list(self._news.commits(since, since + seconds))
        touched = mean(commit.records for commit in found)
        durations = [1000 * commit.seconds for commit in found]
        slowest = sorted(durations)[-1 - len(durations) // 100]
        print(
            f"keys {self._keys:,}: {len(found)} commits of {touched:,.0f} records, median {median(durations):.1f} ms,"
            f" mean {mean(durations):.1f}, one in a hundred {slowest:.1f}",
            flush=True,
        )
        return durations

    def start_again(self) -> float:
        """Seconds from the command to the first committed output, with what lies on disk."""
        with self._fed(COMMITS_PER_S), self._timed() as seconds:
            return seconds()

    def start_empty(self) -> float:
        self._topics.load(self._work.source, map(self._touch, range(TOUCHED)))
        with self._timed() as seconds:
            return seconds()

    def bootstrap(self) -> float:
        """Records/s of the changelog on an empty disk, and whether they come to what was kept."""
        shutil.rmtree(self._copies)
        since = time.time()
        with self._running("--until-caught-up") as whorl:
            if code := whorl.wait(LOADED_S):
                raise ProcessFailed(f"the state was not there again, exit code {code}; the log:\n{whorl.tail()}")
        state = [task["readings"]["state"] for task in self._news.last(since).values()]
        restored, seconds = sum(task["records"] for task in state), max(task["seconds"] for task in state)
        if restored < self._keys:
            raise ProcessFailed(f"{restored:,} of {self._keys:,} keys came back")
        cost = f"{self.peak.cpu:.1f} s of CPU of the workers, their start and end in it"
        print(f"keys {self._keys:,}: {restored:,} records of the changelog read in {seconds:.1f} s, {cost}", flush=True)
        return float(restored / seconds)

    def _touch(self, number: int) -> tuple[bytes, bytes]:
        return records.scattered(number, self._keys)

    @contextmanager
    def _fed(self, rate: int) -> Iterator[None]:
        feeder = Feeder(self._work.broker, self._work.source, rate, self._touch)
        try:
            yield
        finally:
            feeder.finish()

    @contextmanager
    def _timed(self) -> Iterator[Callable[[], float]]:
        before, started = self._topics.committed_end(self._work.sink), time.monotonic()
        with self._running() as whorl:
            yield lambda: self._until_output(whorl, before, started)

    def _until_output(self, whorl: Process, before: int, started: float) -> float:
        return seconds_until(lambda: self._topics.committed_end(self._work.sink) > before, whorl, started, LOADED_S)

    @contextmanager
    def _running(self, *options: str) -> Iterator[Process]:
        """Its workers' memory is looked at all the while."""
        settings = ("--set", f"state.dir={self._copies}", "--set", f"state.memory={MEMORY_MB}MB")
        over = threading.Event()
        with run_whorl("count.yaml", self._work, self._folder, *settings, *options) as whorl:
            looking = threading.Thread(target=self._look, args=(whorl, over), daemon=True)
            looking.start()
            try:
                yield whorl
                whorl.interrupt(60)
            finally:
                over.set()
                looking.join()

    def _look(self, whorl: Process, over: threading.Event) -> None:
        while not over.wait(0.2):
            self.peak.take(whorl)


@dataclass(frozen=True, slots=True)
class Commit:
    records: int
    seconds: float


@dataclass
class News:
    """What the tasks of a pipeline say of themselves."""

    broker: str
    pipeline: str
    _topic: str = field(init=False)

    def __post_init__(self) -> None:
        self._topic = naming.status_topic(self.pipeline)

    def commits(self, since: float, until: float) -> Iterator[Commit]:
        """Told one by one, or now and then two at once."""
        before: dict[int, dict[str, Any]] = {}
        for status in self._said(since, until):
            figures, last = status["figures"], before.get(status["task"])
            before[status["task"]] = figures
            count = figures["commits"] - last["commits"] if last else 0
            if last and count > 0:
                records, seconds = (figures[name] - last[name] for name in ("read", "commit_seconds"))
                yield from [Commit(records // count, seconds / count)] * count

    def last(self, since: float) -> dict[int, dict[str, Any]]:
        """The last figures of each task."""
        return {status["task"]: status["figures"] for status in self._said(since, time.time())}

    def _said(self, since: float, until: float) -> Iterator[dict[str, Any]]:
        for message in Topics(self.broker, 1).read(self._topic):
            status = json.loads(message.value())
            if since <= status["at"] <= until and not status["component"].startswith("("):
                yield status
