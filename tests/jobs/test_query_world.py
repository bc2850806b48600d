"""The world changes under a query: its source grows; its driver hangs, another takes over, and the first wakes up again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from running import CLEAN, Feed, Running, children, count_committed, eventually, grow, is_alive, judge

from whorl.broker import Broker


def test_the_source_grows_and_a_driver_hangs(
    broker: Broker, whorl_run: Callable[..., Running], query: tuple[Path, str, str]
) -> None:
    file, source, sink = query

    def passes(feed: Feed, running: Running) -> None:
        feed.write(200)
        written = sum(feed.counts.values())
        eventually(lambda: count_committed(broker.address, sink) == written, within=120, what=running.output)

    feed = Feed(broker.address, source)
    first = whorl_run(file, "--set", "heartbeat=200ms")
    passes(feed, first)
    grow(broker.address, source, 4)
    knows_all = Feed(broker.address, source)
    knows_all.counts = feed.counts
    passes(knows_all, first)

    hung = [first.process.pid, *children(first.process.pid)]
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)
    second = whorl_run(file, "--set", "heartbeat=200ms")
    passes(knows_all, second)
    for pid in filter(is_alive, hung):
        os.kill(pid, signal.SIGCONT)
    assert first.wait(90) == 3, first.output
    assert "Traceback" not in first.output
    passes(knows_all, second)
    assert second.stop() == 0, second.output
    assert judge(broker.address, sink, feed.counts) == CLEAN
