"""A pipeline that is started again whenever it ends, and what kills it with -9: driver, JVM, daemon or worker, at random moments."""

from __future__ import annotations

import random
import shutil
import signal
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException

from bench.failures import ProcessFailed, TooSlow
from bench.peers import Work
from bench.processes import Member, Process, send
from bench.topics import PARTITIONS, Topics
from bench.whorl_side import daemons, jvm, run_whorl, workers

VICTIMS: dict[str, Callable[[Process], list[Member]]] = {
    "worker": workers,
    "daemon": lambda process: daemons(process) or workers(process),
    "jvm": jvm,
    "driver": lambda process: [member for member in process.members() if member.pid == process.pid],
}
DISK, TASKS = "disk", "tasks"
STUCK_S = 150
ORPHAN_S = 30
AT_ONCE = 0.25


def add_kill_options(parser: ArgumentParser, records: int, rate: int) -> None:
    parser.add_argument("--kills", type=int, default=20, help="how often something is killed")
    parser.add_argument("--records", type=int, default=records, help="feed at least so many records")
    parser.add_argument("--rate", type=int, default=rate, help="records/s of the feeder")
    parser.add_argument("--seed", type=int, default=None, help="of the random moments and victims")


def thrown(benchmark: str, options: Namespace) -> random.Random:
    """The dice; their seed is told, so that a run can be had again."""
    seed = options.seed if options.seed is not None else random.randrange(1_000_000)
    print(f"{benchmark} seed={seed}", flush=True)
    return random.Random(seed)


def in_turns(kinds: Sequence[str], kills: int, dice: random.Random) -> list[str]:
    """Each kind equally often, in random order."""
    rounds = -(-kills // len(kinds))
    return [kind for _ in range(rounds) for kind in dice.sample(kinds, len(kinds))][:kills]


class Supervised:
    """The pipeline, started again whenever it ends; the dead are watched until none of their processes lives."""

    def __init__(self, pipeline: str, work: Work, folder: Path, settings: Mapping[str, object]) -> None:
        """`settings` may change from one start to the next."""
        self._pipeline, self._work, self._folder = pipeline, work, folder
        self.settings = dict(settings)
        self._starts = 0
        self._dead: list[tuple[Process, float]] = []
        self.process = self._start()

    @property
    def sink(self) -> str:
        return self._work.sink

    def keep_running(self) -> None:
        self._bury()
        if self.process.ended() is not None:
            self._dead.append((self.process, time.monotonic()))
            self.process = self._start()

    def catch_up(self, until: str = "--until-caught-up") -> None:
        """A graceful stop, then a run to the end of the source."""
        self.process.interrupt(60)
        deadline = time.monotonic() + STUCK_S
        while time.monotonic() < deadline:
            self.process = self._start(until)
            code = self.process.wait(STUCK_S)
            self.process.kill()
            if code == 0:
                return
        raise TooSlow(f"the pipeline did not catch up; its log:\n{self.process.tail()}")

    def __enter__(self) -> Supervised:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self.process, *(process for process, _ in self._dead)):
            process.kill()

    def _start(self, *options: str) -> Process:
        self._starts += 1
        settings = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        log = f"{self._work.name}-{self._starts}"
        return run_whorl(self._pipeline, self._work, self._folder, *settings, *options, log=log)

    def _bury(self) -> None:
        """Nothing of a dead driver may live on; a machine that is busy takes its time over it."""
        self._dead = [(process, since) for process, since in self._dead if process.members()]
        for process, since in self._dead:
            if time.monotonic() - since > ORPHAN_S:
                orphans = ", ".join(f"{member.pid} {member.command[:60]}" for member in process.members())
                raise ProcessFailed(f"still alive {ORPHAN_S} s after their driver: {orphans}")


def lose_disk(pipeline: Supervised, copies: Path) -> str:
    """As on another machine: what the tasks kept on disk is gone with them."""
    pipeline.process.kill()
    lost = sum(1 for _ in copies.glob("*/*/*/*/data.mdb"))
    shutil.rmtree(copies, ignore_errors=True)
    return f"all processes, and {lost} copies gone"


def change_tasks(pipeline: Supervised, dice: random.Random) -> str:
    pipeline.process.kill()
    pipeline.settings["tasks"] = dice.choice([1, *range(3, PARTITIONS + 1)])
    return f"all processes, now {pipeline.settings['tasks']} tasks"


def with_changes(kills: int, dice: random.Random) -> list[str]:
    """The kills of processes in turns, and somewhere among them, once each, the two that change more."""
    once = [DISK, TASKS][:kills]
    kinds = in_turns(tuple(VICTIMS), kills - len(once), dice)
    for kind in once:
        kinds.insert(dice.randint(0, len(kinds)), kind)
    return kinds


class Killer:
    def __init__(
        self, pipeline: Supervised, topics: Topics, dice: random.Random, others: Mapping[str, Callable[[], str]]
    ) -> None:
        """`others`: harm of other kinds than the death of one process; each says what it did."""
        self._pipeline, self._topics, self._dice, self._others = pipeline, topics, dice, others
        self._end = 0

    def run(self, kinds: Sequence[str]) -> None:
        for number, kind in enumerate(kinds, 1):
            # Some kills hit the recovery from the one before, the others a pipeline that works.
            if number == 1 or self._dice.random() > AT_ONCE:
                self._await_progress()
            time.sleep(self._dice.uniform(0, 2))
            self._pipeline.keep_running()
            print(f"kill {number}/{len(kinds)} {kind:6} {self._kill(kind)}  committed {self._end:,}", flush=True)
        self._await_progress()

    def _kill(self, kind: str) -> str:
        if kind in self._others:
            return self._others[kind]()
        victim = self._dice.choice(self._await_victims(VICTIMS[kind]))
        send(victim.pid, signal.SIGKILL)
        return f"pid {victim.pid}"

    def _await_victims(self, find: Callable[[Process], list[Member]]) -> list[Member]:
        deadline = time.monotonic() + STUCK_S
        while time.monotonic() < deadline:
            self._pipeline.keep_running()
            if found := find(self._pipeline.process):
                return found
            time.sleep(0.05)
        raise TooSlow(f"there is nothing to kill; the log:\n{self._pipeline.process.tail()}")

    def _await_progress(self) -> None:
        """Until something was committed after the last look."""
        before, deadline = self._committed(), time.monotonic() + STUCK_S
        while self._committed() <= before:
            self._pipeline.keep_running()
            if time.monotonic() > deadline:
                raise TooSlow(f"nothing was committed for {STUCK_S} s; the log:\n{self._pipeline.process.tail()}")
            time.sleep(0.05)

    def _committed(self) -> int:
        # The broker may be away or have just come back.
        with suppress(KafkaException):
            self._end = max(self._end, self._topics.committed_end(self._pipeline.sink))
        return self._end
