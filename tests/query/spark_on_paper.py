"""Structured Streaming on paper: what Spark does with batches, tasks and its two logs, on the Kafka in memory.

    Paper     what survives a crash: Kafka, the offset log, the commit log, the manifest
    Worker    a Python worker process: its clients, its seats
    Driver    takes the ledger, compares, repeats the batch in doubt, runs the others
    Sleeper   a life in a thread of its own, which runs only while it is told to

Every call of a Kafka client, every entry of a log and every start of a task is a point at which its process can die or fall asleep.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from threading import Semaphore, Thread, get_ident
from typing import Any

import pyarrow as pa

from whorl.errors import PipelineError, Superseded, Unavailable
from whorl.kafka.transactions import Aborted
from whorl.query.checkpoint import Manifest, Progress, compare
from whorl.query.ledger import PARTITIONS, Ledger, Taken
from whorl.query.seat import SeatOrder, Seats
from whorl.query.writer import Outcome, WriteOrder, write_partition
from whorl.testing import Crash, Faults, ManualClock, MemoryBroker
from whorl.testing.memory import MemoryClients

UID, COMPONENT, LEDGER, DEAD = "u1", "totals", "ledger", "dead"
TOPICS = ("out", "side", DEAD)
LIMIT = 100_000
BATCHES = (
    ((("a0", "a1"), ("a2",)), (("b0",),)),
    ((), (("b1",), (), ("b2",))),
    ((("a3",),), (("b3",), ("b4", "b5"))),
)
"""Of each batch its partitions, of each partition its Arrow batches. `a` goes to partition 0, `b` to 1, those of ASIDE to another topic."""
ASIDE = ("a1", "b2", "b4")
EXPECTED = {
    ("out", 0): ["a0", "a2", "a3"],
    ("out", 1): ["b0", "b1", "b3", "b5"],
    ("side", 0): ["a1"],
    ("side", 1): ["b2", "b4"],
}
SCHEMA = pa.schema({"output": pa.int32(), "partition": pa.int32(), "key": pa.binary(), "value": pa.binary()})


class InTurn:
    """A pool without threads, so that a run can be repeated point by point."""

    def __init__(self, workers: int) -> None:
        pass

    def __enter__(self) -> InTurn:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    map = staticmethod(map)


class Hung(AssertionError):
    """Somebody waits for what nobody will do."""


class Paper:
    def __init__(self, batches: Any = BATCHES) -> None:
        self.batches = batches
        self.clock = ManualClock()
        self.broker = MemoryBroker(self.clock, idle=self._idle)
        for topic in TOPICS:
            self.broker.create_topic(topic, 2)
        self.broker.create_topic(LEDGER, PARTITIONS)
        self.offered = self.committed = -1
        self.manifest = Manifest("p", COMPONENT, UID, "definition", ("in",))
        self.sleepers: dict[int, Sleeper] = {}
        self._born = 0

    def worker(self, faults: Faults | None = None, name: str = "") -> Worker:
        self._born += 1
        return Worker(self, name or f"seat{self._born}", faults)

    def offer(self, batch: int) -> None:
        if batch <= self.offered:
            raise Unavailable(f"Concurrent update to the log. Multiple streaming jobs detected for {batch}")
        self.offered = batch

    def commit(self, batch: int) -> None:
        if batch <= self.committed:
            raise Unavailable(f"Concurrent update to the log. Multiple streaming jobs detected for {batch}")
        self.committed = batch

    def written(self) -> dict[tuple[str, int], list[str]]:
        found: dict[tuple[str, int], list[str]] = {place: [] for place in EXPECTED}
        for topic in TOPICS:
            for entry in self.broker.records(topic):
                found.setdefault((topic, entry.partition), []).append((entry.value or b"").decode())
        return found

    def assert_exact(self, note: object = "") -> None:
        assert self.written() == EXPECTED, note
        assert self.broker.open_transactions() == [], note
        assert (self.offered, self.committed) == (len(self.batches) - 1,) * 2, note

    def _idle(self, timeout: float) -> None:
        sleeper = self.sleepers.get(get_ident())
        if sleeper is None:
            raise Hung(f"at {self.broker.open_transactions()}")
        sleeper.pause()


class Worker:
    """`name`: of its seat, as another process on its machine had it before."""

    def __init__(self, paper: Paper, name: str, faults: Faults | None = None) -> None:
        self.name = name
        self.faults = faults or Faults()
        self.clients = MemoryClients(paper.broker, self.faults)
        self.seats = Seats(lambda uid: name)
        self.busy = False

    def write(self, rows: Iterable[pa.RecordBatch], order: WriteOrder, number: int, attempt: int = 0) -> Outcome:
        self.busy = True
        try:
            return write_partition(rows, order, number, attempt, self.clients, self.seats)
        finally:
            self.busy = False


class Driver:
    """`seed`: tasks take turns at random, and each finds a process at random; without one, all in order and in one process."""

    def __init__(
        self, paper: Paper, workers: list[Worker] | None = None, faults: Faults | None = None, seed: int | None = None
    ) -> None:
        self.paper = paper
        self.workers = workers if workers is not None else [paper.worker()]
        self.faults = faults or Faults()
        self.ledger = Ledger(MemoryClients(paper.broker, self.faults), LEDGER, UID, COMPONENT)
        self.taken: Taken | None = None
        self.outcomes: list[Outcome] = []
        self.same_seats = False
        """Whether a process that comes instead of a dead one finds that one's name free."""
        self._random = random.Random(seed)
        self._mixed = seed is not None

    def run(self, retries: int = 3) -> None:
        """To the end, started again as long as that may help; then closed."""
        for retry in range(retries + 1):
            try:
                self.start()
                self.work()
                self.ledger.close()
                return
            except (Unavailable, Superseded, Aborted) as error:
                if retry == retries or not getattr(error, "retryable", True):
                    raise

    def start(self) -> None:
        """1 to 3."""
        self.taken = self.ledger.take(self.taken.run if self.taken else None)
        progress = Progress(self.paper.offered, self.paper.committed)
        self.paper.manifest = compare(self.paper.manifest, self.paper.manifest, progress, self.taken.seqs, "paper")

    def work(self) -> None:
        """The batch that is offered and not committed, and all after it."""
        first, again = self.paper.committed + 1, self.paper.offered
        for batch in range(first, len(self.paper.batches)):
            if batch > again:
                self.faults.reach("spark.offer")
                self.paper.offer(batch)
            self.faults.reach("spark.batch")
            self.batch(batch)
            self.faults.reach("spark.commit")
            self.paper.commit(batch)

    def batch(self, batch: int) -> None:
        """One action. What its tasks say is looked at when all have ended, as by `whorl.query.action`."""
        waiting = list(enumerate(self.paper.batches[batch]))
        if self._mixed:
            self._random.shuffle(waiting)
        outcomes: list[Outcome] = []

        def next_task() -> None:
            if waiting:
                self.faults.reach("spark.task")
                number, rows = waiting.pop(0)
                outcomes.append(self._task(self.order(batch), number, lambda: taking_turns(rows)))

        def taking_turns(rows: Iterable[Iterable[str]]) -> Iterator[pa.RecordBatch]:
            for each in arrow(rows):
                yield each
                if self._mixed and self._random.random() < 0.5:
                    next_task()

        while waiting:
            next_task()
        self.outcomes += outcomes
        for outcome in outcomes:
            judge(outcome)

    def order(self, batch: int) -> WriteOrder:
        assert self.taken is not None
        seq = self.paper.manifest.base + batch
        seat = SeatOrder(LEDGER, UID, COMPONENT, self.taken.run, 300.0)
        return WriteOrder(seat, seq, TOPICS, dict.fromkeys(TOPICS, LIMIT), DEAD, self.taken.of(seq))

    def _task(self, order: WriteOrder, number: int, rows: Callable[[], Iterator[pa.RecordBatch]]) -> Outcome:
        """Attempts, each in a process that is free, until one returns."""
        for attempt in range(5):
            worker = self._free_worker()
            try:
                return worker.write(rows(), order, number, attempt)
            except (Exception, Crash):
                if self.faults.crashed:
                    raise
                if worker.faults.crashed:
                    self._replace(worker)
        raise AssertionError("a task fails again and again")

    def _replace(self, dead: Worker) -> None:
        self.workers.remove(dead)
        self.workers.append(self.paper.worker(name=dead.name if self.same_seats else ""))

    def _free_worker(self) -> Worker:
        free = [worker for worker in self.workers if not worker.busy]
        if not free:
            self.workers.append(self.paper.worker())
            return self.workers[-1]
        return self._random.choice(free) if self._mixed else free[0]


def judge(outcome: Outcome) -> None:
    if outcome.how == "superseded":
        raise Superseded(outcome.detail)
    if outcome.how == "doubt":
        raise Unavailable("a task died")
    if outcome.how == "differs":
        raise PipelineError(outcome.detail)


def arrow(rows: Iterable[Iterable[str]]) -> Iterator[pa.RecordBatch]:
    for values in rows:
        yield pa.RecordBatch.from_pylist([_row(value) for value in values], SCHEMA)


def _row(value: str) -> dict[str, Any]:
    data = value.encode()
    return {"output": int(value in ASIDE), "partition": int(value[0] == "b"), "key": data[:1], "value": data}


class Sleeper:
    """Runs up to its n-th point from its start, or to where it can only wait, or to its end."""

    def __init__(self, paper: Paper, life: Callable[[Faults], Any]) -> None:
        self.faults = _Sleeping(self)
        self.result: Any = None
        self.error: BaseException | None = None
        self.until: int | None = None
        self._ended = False
        self._paper = paper
        self._mine, self._yours = Semaphore(0), Semaphore(0)
        self._thread = Thread(target=self._run, args=(life,), daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        return not self._thread.is_alive()

    def go(self, until: int | None = None) -> Sleeper:
        """None: to the end."""
        self.until = until
        if not self.over and (until is None or len(self.faults.points) < until):
            self._mine.release()
            self._yours.acquire()
            if self._ended:
                self._thread.join()
        return self

    def pause(self) -> None:
        self._yours.release()
        self._mine.acquire()

    def _run(self, life: Callable[[Faults], Any]) -> None:
        self._paper.sleepers[get_ident()] = self
        self._mine.acquire()
        try:
            self.result = life(self.faults)
        except BaseException as error:
            self.error = error
        finally:
            del self._paper.sleepers[get_ident()]
            self._ended = True
            self._yours.release()


class _Sleeping(Faults):
    def __init__(self, sleeper: Sleeper) -> None:
        super().__init__()
        self._sleeper = sleeper

    def reach(self, point: str) -> Any:
        failure = super().reach(point)
        if len(self.points) == self._sleeper.until:
            self._sleeper.pause()
        return failure


def finish(*sleepers: Sleeper) -> None:
    """All of them to their ends, each in its turn."""
    for _ in range(1000):
        if all(sleeper.over for sleeper in sleepers):
            return
        for sleeper in sleepers:
            sleeper.go()
    raise Hung("they wait for one another")
