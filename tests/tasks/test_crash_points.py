"""Exactly once, proved by exhaustion: whatever call of a Kafka client is the last one of a process, the result is the same.

The workload is small and has everything: two components joined by a topic, two partitions, records of committed and aborted
transactions with their markers, a record that cannot be read, one on which an operator fails, one that becomes three, commits between
and inside bulks. It is run once undisturbed to count the points, and then again for each of them.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Semaphore, Thread

import pytest

from whorl.config.loader import load
from whorl.errors import Superseded, WorldError
from whorl.flow.check import checked
from whorl.kafka.transactions import Aborted
from whorl.plan import naming
from whorl.plan.planner import make_plan
from whorl.tasks.changelog import read_positions
from whorl.tasks.register import read_registration
from whorl.testing import Crash, Faults, ManualClock, PipelineHarness
from whorl.testing.memory import ABORTABLE, BROKER_DOWN, FENCED, QUEUE_FULL, TIMED_OUT, MemoryClients
from whorl.testing.process import Process

PIPELINE = """
name: proof
sources:
  numbers: {type: kafka, topic: in, schema: {k: string, n: long}}
operators:
  - {id: fan, type: python, function: test_crash_points.fan, from: numbers}
  - {id: check, type: python, function: test_crash_points.no_unlucky_one, from: {id: fan, via: topic}}
sinks:
  out: {type: kafka, topic: out, from: check, key: k}
settings: {commit_records: 3, bulk_records: 4, commit_interval: 3ms, tasks: 1}
"""
EXPECTED = {
    "a": [(1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (5, 0)],
    "d": [(1, 0), (2, 0), (5, 0)],
}
EXPECTED_DEAD = Counter({("numbers", b"a"): 1, ("check", b"d"): 1})


def fan(row):
    """Three of the third, one of the others."""
    return [{**row, "part": part} for part in range(3 if (row["k"], row["n"]) == ("a", 3) else 1)]


def no_unlucky_one(row):
    if (row["k"], row["n"]) == ("d", 4):
        raise ValueError("unlucky")
    return row


class TickingClock(ManualClock):
    """A look at it takes a millisecond, so that commits fall due in the middle of bulks."""

    def __call__(self):
        self.now += 0.001
        return self.now


class Interrupted(Faults):
    """Does something else in the middle of this process's work, which then goes on as if nothing had happened."""

    def __init__(self, actions, hold=False):
        super().__init__(hold=hold)
        self.waiting = dict(actions)

    def reach(self, point):
        failure = super().reach(point)
        self.waiting.pop(len(self.points), lambda: None)()
        return failure


class EveryOther(Faults):
    """Fails every other time that a point of this name is passed."""

    def __init__(self, name, failure):
        super().__init__()
        self._name, self._failure, self._passed = name, failure, 0

    def reach(self, point):
        super().reach(point)
        self._passed += self._name in point
        return self._failure if self._name in point and self._passed % 2 else None


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory):
    file = Path(tmp_path_factory.mktemp("proof")) / "proof.yaml"
    file.write_text(PIPELINE)
    loaded = load(file)
    return make_plan(checked(loaded), loaded.settings)


def prepared(plan, faults=None):
    harness = PipelineHarness(plan, faults=faults, partitions=2)
    harness.clock = TickingClock()
    clients = MemoryClients(harness.broker)
    _in_transaction(clients, [("a", 1), ("d", 1)], commit=True)
    _in_transaction(clients, [("a", 99), ("d", 99)], commit=False)
    plain = clients.producer()
    for k, n in (("a", 2), ("d", 2)):
        plain.produce("in", _value(k, n), k)
    plain.produce("in", b"not json", b"a")
    plain.flush()
    _in_transaction(clients, [("a", 3), ("d", 4), ("a", 5), ("d", 5)], commit=True)
    return harness


def _in_transaction(clients, records, commit):
    producer = clients.transactional("upstream")
    producer.init_transactions()
    producer.begin_transaction()
    for k, n in records:
        producer.produce("in", _value(k, n), k)
    producer.commit_transaction() if commit else producer.abort_transaction()


def _value(k, n):
    return json.dumps({"k": k, "n": n}).encode()


def run_to_the_end(harness, attempts):
    """A process that ends by an error is started again."""
    for attempt in range(1, attempts + 1):
        try:
            return harness.run()
        except Exception:
            if attempt == attempts:
                raise


def assert_exact(harness, note):
    rows = harness.sink("out")
    by_key = {key: [(row["n"], row["part"]) for row in rows if row["k"] == key] for key in EXPECTED}
    assert by_key == EXPECTED, note
    assert len(rows) == sum(map(len, EXPECTED.values())), note
    dead = Counter((letter.operator, letter.key) for letter in harness.dead())
    assert dead == EXPECTED_DEAD, note
    assert harness.broker.open_transactions() == [], note
    assert_positions(harness, note)


def assert_positions(harness, note):
    """The changelog's positions are the group's, and both are the ends."""
    clients, ground = MemoryClients(harness.broker), harness.ground()
    uid = read_registration(clients, "proof").uid
    for component in harness.plan.components:
        topic = naming.changelog_topic("proof", uid, component.id)
        stored = read_positions(clients, topic, range(ground.lps[component.id]))
        assert stored == harness.broker.offsets(component.group) == ground.ends(component), note


def undisturbed(plan, hold=False):
    harness = prepared(plan, Faults(hold=hold))
    harness.run()
    assert_exact(harness, "undisturbed")
    return harness.faults.points


@pytest.mark.parametrize("hold", [False, True])
def test_a_crash_at_any_point(plan, hold):
    points = undisturbed(plan, hold)
    assert {entry.partition for entry in prepared(plan).broker.records("in")} == {0, 1}
    assert points.count("producer.commit_transaction") > 8, "the workload must commit often to prove anything"
    for k, point in enumerate(points, 1):
        harness = prepared(plan)
        harness.crash_at(k, hold)
        with pytest.raises(Crash):
            harness.run()
        harness.run()
        assert_exact(harness, (k, point))


def test_a_crash_during_the_restart_after_a_crash(plan):
    """The restart finds a transaction open, positions behind, ids to fence; and it, too, dies anywhere."""
    points = undisturbed(plan)
    for first in range(5, len(points) + 1, 29):
        second, restart = 1, None
        while restart is None or second <= len(restart):
            harness = prepared(plan)
            harness.crash_at(first)
            with pytest.raises(Crash):
                harness.run()
            if restart is None:
                harness.run()
                restart = harness.faults.points
                continue
            harness.crash_at(second, hold=second % 2 == 0)
            with pytest.raises(Crash):
                harness.run()
            harness.run()
            assert_exact(harness, (first, second))
            second += 5


def test_a_zombie_adds_nothing(plan):
    """The whole process, driver and tasks, sleeps at any point while another takes over and does the work, and then goes on."""
    for k, point in enumerate(undisturbed(plan), 1):
        harness = prepared(plan)
        sleep_while(harness, {k: harness.run}, hold=k % 2 == 0)
        if k % 10 == 0:
            harness.run()
        assert_exact(harness, (k, point))


@pytest.mark.parametrize(("later", "stride"), [(13, 1), (40, 3)])
def test_a_zombie_beside_its_successor_adds_nothing(plan, later, stride):
    """It sleeps while the other takes over, goes on for a while, and sleeps again while the other does the work.

    Which of the two is the zombie is not said: the one that was the last to take the driver's id is the master.
    """
    for k in range(1, len(undisturbed(plan)) + 1, stride):
        harness = prepared(plan)
        successor = harness.process()
        sleep_while(harness, {k: successor.start, k + later: unless_superseded(successor.work)})
        harness.run()
        assert_exact(harness, k)


def unless_superseded(action):
    """Nor does it count that it waits in vain where the sleeper is in the midst of writing to the register."""

    def tolerant():
        with suppress(Superseded, Aborted):
            try:
                action()
            except WorldError as error:
                if "still waits" not in str(error):
                    raise

    return tolerant


def sleep_while(harness, actions, hold=False):
    """Runs the pipeline in a process that at certain points sleeps while others do something; all of it is done at the end."""
    faults = Interrupted(actions, hold)
    try:
        life = Process(harness.ground(), harness.clock, faults)
        life.start()
        life.work()
    except (Superseded, Aborted) as ended:
        assert len(faults.waiting) < len(actions), f"ended too early: {ended}"
    for action in faults.waiting.values():
        action()


def test_a_second_attempt_of_a_task_fences_the_first(plan):
    """Spark starts a task again that it takes for dead; the layout is the same, only the transactional id tells the two apart."""
    points = undisturbed(plan)
    for k in range(len(driver_points(plan)) + 1, len(points) - 5, 2):
        harness = prepared(plan)
        first = harness.process()
        first.start()
        again = Interrupted({k - len(harness.faults.points): first.attempt(Faults()).work})
        try:
            first.attempt(again).work()
        except (Superseded, Aborted) as ended:
            assert not again.waiting, (k, ended)
        assert not again.waiting
        assert_exact(harness, (k, points[k - 1]))


def driver_points(plan):
    """The points of the driver alone: take over, write the layout, fence, seed."""
    harness = prepared(plan)
    harness.process().start()
    return harness.faults.points


def test_a_task_that_comes_back_after_a_new_layout_ends_at_once(plan):
    """A retry of an old driver's Spark inits the fenced id once more, and that is allowed; the register is what stops it."""
    harness = prepared(plan)
    old = harness.process()
    old.start()
    harness.run()
    for component in plan.components:
        with pytest.raises(Superseded, match="layout 2 is in force, this task belongs to layout 1"):
            old.attempt(Faults()).work_on(component)
    assert_exact(harness, "after the late retry")


class Sleeper:
    """A process in a thread of its own that runs only while it is told to: up to its n-th point from its start, or to its end."""

    def __init__(self, broker, life):
        self._broker, self._idle = broker, broker.idle
        self.points, self._until = 0, 0
        self._mine, self._yours = Semaphore(0), Semaphore(0)
        self._thread = Thread(target=self._run, args=(life,), daemon=True)
        self._thread.start()
        self.error = None

    def go(self, until=10**9):
        self._until = until
        if self._thread.is_alive():
            outer, self._broker.idle = self._broker.idle, self._idle
            self._mine.release()
            self._yours.acquire()
            self._idle, self._broker.idle = self._broker.idle, outer
        return self

    def _run(self, life):
        self._mine.acquire()
        try:
            life(self)
        except (Superseded, Aborted) as error:
            self.error = error
        finally:
            self._until = -1
            self._yours.release()

    def faults(self):
        sleeper = self

        class Sleeping(Faults):
            def reach(self, point):
                failure = super().reach(point)
                sleeper.points += 1
                if sleeper.points == sleeper._until:
                    sleeper._yours.release()
                    sleeper._mine.acquire()
                return failure

        return Sleeping()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_late_retry_at_any_moment_of_the_takeover(plan, fresh):
    """While the new driver takes over, step by step, Spark's old driver starts a task again; that one sleeps in turn."""
    for step in range(1, len(takeover_points(plan, fresh)) + 1):
        for asleep in (9, 12, first_commit(plan)):
            harness = prepared(plan)
            old = harness.process()
            old.start()
            new = Sleeper(harness.broker, partial(take_over, harness, fresh)).go(until=step)
            late = Sleeper(harness.broker, lambda me, old=old: old.attempt(me.faults()).work()).go(until=asleep)
            new.go()
            late.go()
            assert new.error is None, (step, asleep, new.error)
            assert_exact(harness, (step, asleep, late.error))


def take_over(harness, fresh, me):
    successor = Process(harness.ground(), harness.clock, me.faults())
    successor.start(fresh)
    successor.work()


def first_commit(plan):
    """The last point of an attempt at which it has done nothing that lasts."""
    return undisturbed(plan)[len(driver_points(plan)) :].index("producer.commit_transaction")


def takeover_points(plan, fresh):
    harness = prepared(plan)
    harness.process().start()
    harness.process().start(fresh)
    return harness.faults.points


ANSWERED = ("/answer",)
FAILURES = {
    "timed out": (TIMED_OUT, ("init_transactions", "send_offsets", "commit_transaction", "abort_transaction")),
    "abortable": (ABORTABLE, ("producer.produce", "send_offsets_to_transaction", "producer.commit_transaction")),
    "fenced": (FENCED, ("producer.produce", "send_offsets_to_transaction", "producer.commit_transaction")),
    "queue full": (QUEUE_FULL, ("producer.produce",)),
    "broker down": (BROKER_DOWN, ("consumer.poll", "consumer.consume")),
}
HARMLESS = ("timed out", "abortable", "queue full")
"""The process gets over them by itself."""


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_at_any_point(plan, name):
    failure, where = FAILURES[name]
    for k, point in enumerate(undisturbed(plan), 1):
        if not any(part in point for part in where) or (point.endswith(ANSWERED) and failure is not TIMED_OUT):
            continue
        harness = prepared(plan, Faults(fail={k: failure}, hold=k % 2 == 0))
        run_to_the_end(harness, attempts=1 if name in HARMLESS else 2)
        assert_exact(harness, (k, point))


def test_every_commit_times_out_twice(plan):
    """Once before it was done and once after: a commit without an answer is repeated, never given up."""
    calls = undisturbed(plan).count("producer.commit_transaction")
    harness = prepared(plan, EveryOther("commit_transaction/", TIMED_OUT))
    harness.run()
    assert_exact(harness, "all commits timed out")
    assert harness.faults.points.count("producer.commit_transaction") > 1.5 * calls


def test_a_transaction_that_kafka_gave_up_ends_the_attempt_and_the_next_one_goes_on(plan):
    """The broker was away for longer than the transaction timeout: that looks like being fenced, and is not the end of the job."""
    points = undisturbed(plan)
    for k in range(len(driver_points(plan)) + 5, len(points), 3):
        harness = prepared(plan)

        def long_pause(clock=harness.broker.clock):
            clock.now += 61.0

        process = harness.process()
        process.start()
        try:
            process.attempt(Interrupted({k - len(harness.faults.points): long_pause})).work()
        except Superseded as error:
            assert error.retryable, (k, error)
            process.attempt(Faults()).work()
        assert_exact(harness, (k, points[k - 1]))


def test_a_crash_while_starting_over_forgets_nobody(plan):
    """Whatever the driver had done: the old task, asleep before its first commit, never commits once the new ones are laid out."""
    for k in range(1, len(takeover_points(plan, fresh=True)) + 1):
        harness = prepared(plan)
        old = harness.process()
        old.start()

        def start_over_twice(harness=harness, k=k):
            with pytest.raises(Crash):
                Process(harness.ground(), harness.clock, Faults(crash_at=k)).start(fresh=True)
            new = harness.process()
            new.start(fresh=True)
            new.work()

        with pytest.raises((Superseded, Aborted)):
            old.attempt(Interrupted({first_commit(plan): start_over_twice})).work()
        assert_exact(harness, k)
