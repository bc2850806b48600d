"""kill -9 at random moments under load, of driver, JVM, daemon, worker and broker; then every record is accounted for.

The judge is a `read_committed` consumer that shares nothing with Whorl. The source topic is judged too, so that a fault
of the feeder is never taken for one of Whorl. `--host query` lets the records pass through SQL instead of long tasks.
"""

from __future__ import annotations

import random
import signal
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import uuid4

from confluent_kafka import KafkaException

from bench.cluster import Cluster, cluster
from bench.failures import FeederFailed, ProcessFailed, TooSlow
from bench.peers import Work
from bench.processes import Member, Process, send, temporary_folder
from bench.sequences import Feeder, judge, numbers
from bench.topics import Topics
from bench.whorl_side import daemons, jvm, run_whorl, workers

KINDS = ("worker", "driver", "broker", "jvm", "daemon")
VICTIMS: dict[str, Callable[[Process], list[Member]]] = {
    "worker": workers,
    "daemon": lambda process: daemons(process) or workers(process),
    "jvm": jvm,
    "driver": lambda process: [member for member in process.members() if member.pid == process.pid],
}
PIPELINES = {"tasks": "forward.yaml", "query": "query_copy.yaml"}
STUCK_S = 150
ORPHAN_S = 10
AT_ONCE = 0.25


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--host", choices=PIPELINES, default="tasks", help="what runs the pipeline on Spark")
    parser.add_argument("--kills", type=int, default=20, help="how many processes are killed")
    parser.add_argument("--records", type=int, default=200_000, help="feed at least so many records")
    parser.add_argument("--rate", type=int, default=5_000, help="records/s of the feeder")
    parser.add_argument("--seed", type=int, default=None, help="of the random moments and victims")


def main(options: Namespace) -> int:
    seed = options.seed if options.seed is not None else random.randrange(1_000_000)
    print(f"exactly_once seed={seed}", flush=True)
    name = f"kills-{uuid4().hex[:8]}"
    with cluster() as broker, ExitStack() as stack:
        topics = Topics(broker.address)
        work = Work(broker.address, name, f"{name}-in", f"{name}-out")
        topics.create(work.source, work.sink)
        pipeline = stack.enter_context(Supervised(PIPELINES[options.host], work, temporary_folder(stack)))
        feeder = Feeder(broker.address, work.source, options.rate)
        stack.callback(feeder.stop)
        Killer(broker, pipeline, topics, random.Random(seed)).run(options.kills)
        while feeder.sent < options.records:
            pipeline.keep_running()
            time.sleep(0.2)
        sent = feeder.finish()
        pipeline.catch_up()
        if not judge(sent, numbers(topics.read(work.source))).clean:
            raise FeederFailed("the source topic itself is not what was sent")
        verdict = judge(sent, numbers(topics.read(work.sink, timeout=300)))
    print(
        f"exactly_once kills={options.kills} records={verdict.records} lost={verdict.lost} doubled={verdict.doubled}"
        f" out_of_order={verdict.out_of_order}"
    )
    return 0 if verdict.clean else 1


class Supervised:
    """The pipeline, started again whenever it ends; the dead are watched until none of their processes lives."""

    def __init__(self, pipeline: str, work: Work, folder: Path) -> None:
        self._pipeline, self._work, self._folder = pipeline, work, folder
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

    def catch_up(self) -> None:
        """A graceful stop, then a run to the end of the source."""
        self.process.interrupt(60)
        deadline = time.monotonic() + STUCK_S
        while time.monotonic() < deadline:
            self.process = self._start("--until-caught-up")
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
        kept = ("--set", f"checkpoints={self._folder / 'checkpoints'}")
        log = f"{self._work.name}-{self._starts}"
        return run_whorl(self._pipeline, self._work, self._folder, *kept, *options, log=log)

    def _bury(self) -> None:
        """Nothing of a dead driver may live on for longer than 10 s."""
        self._dead = [(process, since) for process, since in self._dead if process.members()]
        for process, since in self._dead:
            if time.monotonic() - since > ORPHAN_S:
                orphans = ", ".join(f"{member.pid} {member.command[:60]}" for member in process.members())
                raise ProcessFailed(f"still alive {ORPHAN_S} s after their driver: {orphans}")


class Killer:
    def __init__(self, broker: Cluster, pipeline: Supervised, topics: Topics, dice: random.Random) -> None:
        self._broker, self._pipeline, self._topics, self._dice = broker, pipeline, topics, dice
        self._end = 0

    def run(self, kills: int) -> None:
        for number, kind in enumerate(self._kinds(kills), 1):
            # Some kills hit the recovery from the one before, the others a pipeline that works.
            if number == 1 or self._dice.random() > AT_ONCE:
                self._await_progress()
            time.sleep(self._dice.uniform(0, 2))
            self._pipeline.keep_running()
            print(f"kill {number}/{kills} {kind:6} {self._kill(kind)}  committed {self._end:,}", flush=True)
        self._await_progress()

    def _kinds(self, kills: int) -> Iterator[str]:
        """Each kind equally often, in random order."""
        rounds = -(-kills // len(KINDS))
        order = [kind for _ in range(rounds) for kind in self._dice.sample(KINDS, len(KINDS))]
        return iter(order[:kills])

    def _kill(self, kind: str) -> str:
        if kind == "broker":
            self._broker.kill()
            away = self._dice.uniform(0.2, 4)
            time.sleep(away)
            self._broker.restart()
            self._topics.reconnect()
            return f"away for {away:.1f} s"
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
