"""A pipeline that keeps a million keys changes its number of tasks, and then of logical partitions, while records flow.

Before anything changes and when all is read, the state of all keys has one checksum with what a model of the records comes to; every row
that left is judged: each key's counts 1, 2, 3, …, once each. The seconds are those of the three commands.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from hashlib import blake2b
from uuid import uuid4

from confluent_kafka import Message

from bench import records
from bench.cluster import add_broker_option, address
from bench.failures import ProcessFailed, WrongCount
from bench.peers import Work
from bench.processes import Process, temporary_folder
from bench.sequences import Feeder, judge
from bench.start import seconds_until
from bench.topics import Topics
from bench.whorl_side import run_whorl
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.reading.reader import StateReader

PIPELINE, OPERATOR = "rescale.yaml", "total"
PARTITIONS = 48
TASKS = (1, 4, 2)
LPS = (16, 24)
BETWEEN_S = 5
"""Of records that flow before each change and after the last."""
LONGEST_S = 900
MASK = (1 << 64) - 1


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--keys", type=int, default=1_000_000, help="how many keys are kept")
    parser.add_argument("--rate", type=int, default=5_000, help="records/s while it changes")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    name, keys = f"rescale-{uuid4().hex[:8]}", options.keys
    with address(options.broker) as broker, ExitStack() as stack:
        topics, work = Topics(broker, PARTITIONS), Work(broker, name, f"{name}-in", f"{name}-out")
        topics.create(work.source, work.sink)
        pipeline = Rescaled(topics, work, stack)
        topics.load(work.source, (records.scattered(number, keys) for number in range(keys)))
        pipeline.catch_up(TASKS[0])
        same = [_checksum(work, LPS[0]) == _digest(_counts(keys, 0))]
        feeder = Feeder(broker, work.source, options.rate, lambda number: records.scattered(number, keys))
        stack.callback(feeder.stop)
        seconds = pipeline.change()
        feeder.finish()
        pipeline.catch_up(TASKS[-1])
        expected = _counts(keys, feeder.sent)
        same.append(_checksum(work, LPS[-1]) == _digest(expected))
        verdict = judge(expected, _counted(topics.read(work.sink, timeout=300)))
    print(
        f"rescale tasks={_arrows(TASKS)} partitions={_arrows(LPS)} keys={keys} checksum={'equal' if all(same) else 'different'}"
        f" lost={verdict.lost} doubled={verdict.doubled} seconds={seconds:.1f}"
    )
    return 0 if all(same) and verdict.clean else 1


class Rescaled:
    """The pipeline, and what is done to it while it runs."""

    def __init__(self, topics: Topics, work: Work, stack: ExitStack) -> None:
        self._topics, self._work, self._stack = topics, work, stack
        self._folder = temporary_folder(stack)
        self._calls = 0

    def change(self) -> float:
        """The seconds that the commands took, each of which returns when the change is done."""
        changes = [("--tasks", tasks) for tasks in TASKS[1:]] + [("--partitions", lps) for lps in LPS[1:]]
        with self._call("run", "--set", f"tasks={TASKS[0]}") as running:
            taken = [self._changed(running, *change) for change in changes]
            self._flow(running)
            running.interrupt(60)
        return sum(taken)

    def catch_up(self, tasks: int) -> None:
        self._finish(self._call("run", "--until-caught-up", "--set", f"tasks={tasks}"))

    def _changed(self, running: Process, option: str, number: int) -> float:
        self._flow(running)
        started = time.monotonic()
        self._finish(self._call("rescale", option, str(number)))
        seconds = time.monotonic() - started
        print(f"rescale {option} {number} took {seconds:.1f} s", flush=True)
        return seconds

    def _flow(self, running: Process) -> None:
        """Until rows come again, and for some seconds more."""
        before, started = self._topics.committed_end(self._work.sink), time.monotonic()
        seconds_until(lambda: self._topics.committed_end(self._work.sink) > before, running, started)
        time.sleep(BETWEEN_S)
        running.check()

    def _call(self, verb: str, *options: str) -> Process:
        self._calls += 1
        log = f"{self._work.name}-{self._calls}-{verb}"
        copies = ("--set", f"state.dir={self._folder / 'copies'}")
        called = run_whorl(PIPELINE, self._work, self._folder, *copies, *options, log=log, verb=verb)
        return self._stack.enter_context(called)

    def _finish(self, called: Process) -> None:
        if code := called.wait(LONGEST_S):
            raise ProcessFailed(f"{called.log.stem} ended with exit code {code}; its log:\n{called.tail()}")


def _counts(keys: int, fed: int) -> dict[int, int]:
    """How many records each key has had: one when it was loaded, and those of the feeder."""
    counts = Counter(range(keys))
    counts.update(_number(records.scattered(number, keys)[0]) for number in range(fed))
    return counts


def _counted(messages: Iterable[Message]) -> Iterator[tuple[int, int]]:
    for message in messages:
        count, total = message.value().split(b",")
        if count != total:
            raise WrongCount(f"key {message.key()!r}: {count!r} amounts of 1 came to {total!r}")
        yield _number(message.key()), int(count) - 1


def _checksum(work: Work, lps: int) -> int:
    """Of all that is kept, read from outside; it must lie in so many logical partitions."""
    reader = StateReader.on(Cluster(KafkaClients(work.broker)), work.name)
    if (found := reader.changelog(OPERATOR).lps) != lps:
        raise WrongCount(f"there are {found} logical partitions, not {lps}")
    return _sum((_number(entry.key), [int(part) for part in entry.value]) for entry in reader.scan(OPERATOR))


def _digest(counts: Mapping[int, int]) -> int:
    return _sum((key, [count, count]) for key, count in counts.items())


def _sum(kept: Iterable[tuple[int, list[int]]]) -> int:
    """Whatever their order; one that is there twice, or not, shows."""
    hashes = (blake2b(f"{key} {value}".encode(), digest_size=8).digest() for key, value in kept)
    return sum(map(int.from_bytes, hashes)) & MASK


def _number(key: bytes) -> int:
    return int(key[1:])


def _arrows(numbers: Iterable[int]) -> str:
    return "->".join(map(str, numbers))
