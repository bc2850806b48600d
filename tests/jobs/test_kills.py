"""kill -9 of every process that a running pipeline has, under load; an independent consumer counts what came out."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from running import CLEAN, Feed, Running, count_committed, eventually, is_alive, judge

from whorl.broker import Broker

Start = Callable[..., Running]
Forward = tuple[Path, str, str]


def grows(broker: Broker, topic: str, running: Running) -> None:
    """Returns when more came out than had before."""
    before = count_committed(broker.address, topic)
    try:
        eventually(lambda: count_committed(broker.address, topic) > before)
    except AssertionError:
        raise AssertionError(f"nothing new in {topic}; whorl run said:\n{running.output}") from None


def finish(broker: Broker, whorl_run: Start, forward: Forward, feed: Feed) -> None:
    file, _, sink = forward
    feed.stop()
    last = whorl_run(file, "--until-caught-up")
    assert last.wait(90) == 0, last.output
    assert judge(broker.address, sink, feed.counts) == CLEAN


def test_worker_and_daemon(broker: Broker, whorl_run: Start, forward: Forward) -> None:
    file, source, sink = forward
    feed = Feed(broker.address, source).start()
    running = whorl_run(file)
    grows(broker, sink, running)

    os.kill(running.workers()[0], signal.SIGKILL)
    grows(broker, sink, running)

    orphans = running.workers()
    os.kill(running.daemon, signal.SIGKILL)
    eventually(lambda: not any(map(is_alive, orphans)), within=10, what="orphans end")
    grows(broker, sink, running)

    assert running.stop() == 0, running.output
    finish(broker, whorl_run, forward, feed)


def test_driver_and_jvm(broker: Broker, whorl_run: Start, forward: Forward) -> None:
    file, source, sink = forward
    feed = Feed(broker.address, source).start()
    running = whorl_run(file)
    grows(broker, sink, running)
    left = [running.jvm, running.daemon, *running.workers()]
    os.kill(running.process.pid, signal.SIGKILL)
    eventually(lambda: not any(map(is_alive, left)), within=15, what="what the driver started ends")

    running = whorl_run(file)
    grows(broker, sink, running)
    os.kill(running.jvm, signal.SIGKILL)
    assert running.wait() == 3, running.output
    finish(broker, whorl_run, forward, feed)


def test_a_second_driver_is_refused(broker: Broker, whorl_run: Start, forward: Forward) -> None:
    file, source, sink = forward
    feed = Feed(broker.address, source)
    feed.write(200)
    running = whorl_run(file)
    grows(broker, sink, running)
    second = whorl_run(file)
    assert second.wait() == 3
    assert "[already-running]" in second.output and str(running.process.pid) in second.output
    feed.write(200)
    assert running.stop() == 0
    finish(broker, whorl_run, forward, feed)


def test_the_broker_dies_and_comes_back(broker: Broker, whorl_run: Start, forward: Forward) -> None:
    file, source, sink = forward
    feed = Feed(broker.address, source).start()
    running = whorl_run(file)
    grows(broker, sink, running)
    broker.kill()
    broker.restart()
    grows(broker, sink, running)
    assert running.stop() == 0, running.output
    finish(broker, whorl_run, forward, feed)


def test_a_hung_task_is_replaced_and_writes_nothing_when_it_wakes(
    broker: Broker, whorl_run: Start, forward: Forward
) -> None:
    file, source, sink = forward
    feed = Feed(broker.address, source).start()
    running = whorl_run(file, "--set", "heartbeat=200ms")
    grows(broker, sink, running)
    hung = running.workers()
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)
    eventually(lambda: set(running.workers()) - set(hung), what="another worker starts")
    grows(broker, sink, running)
    for pid in hung:
        if is_alive(pid):
            os.kill(pid, signal.SIGCONT)
    grows(broker, sink, running)
    assert running.stop() == 0, running.output
    finish(broker, whorl_run, forward, feed)
