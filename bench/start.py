"""From the command to the first committed output, beside the start of a bare Spark session."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack
from uuid import uuid4

from bench import records
from bench.cluster import add_broker_option, address
from bench.failures import TooSlow
from bench.measure import ratio
from bench.peers import Work
from bench.places import LOGS, PEERS, PYTHON
from bench.processes import Process, spark_files_in, temporary_folder
from bench.topics import Topics
from bench.whorl_side import Whorl

TIMEOUT_S = 120


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=3, help="how often each starts")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    with address(options.broker) as broker:
        topics = Topics(broker)
        source = f"start-{uuid4().hex[:8]}"
        topics.create(source)
        topics.load(source, records.plain(1000))
        ours, theirs = [], []
        for number in range(1, options.runs + 1):
            theirs.append(_session_start())
            ours.append(_whorl_start(topics, source))
            print(f"start run {number}  bare session {theirs[-1]:.2f} s  whorl {ours[-1]:.2f} s", flush=True)
    print(f"start whorl/bare_session={ratio(ours, theirs):.2f}")
    return 0


def _session_start() -> float:
    with ExitStack() as stack:
        files = spark_files_in(temporary_folder(stack))
        started = time.monotonic()
        session = stack.enter_context(Process((PYTHON, PEERS / "bare_session.py"), LOGS / "bare_session.log", files))
        return seconds_until(lambda: "ready" in session.log.read_text(errors="replace"), session, started)


def _whorl_start(topics: Topics, source: str) -> float:
    sink = f"start-{uuid4().hex[:8]}"
    topics.create(sink)
    with ExitStack() as stack:
        stack.callback(topics.delete, sink)
        started = time.monotonic()
        (whorl,) = Whorl("forward.yaml").start(Work(topics.address, sink, source, sink), stack)
        return seconds_until(lambda: topics.committed_end(sink) > 0, whorl, started)


def seconds_until(reached: Callable[[], bool], process: Process, started: float, timeout: float = TIMEOUT_S) -> float:
    while not reached():
        if time.monotonic() - started > timeout:
            raise TooSlow(f"{process.log.stem} was not up after {timeout:g} s; its log:\n{process.tail()}")
        process.check()
        time.sleep(0.01)
    return time.monotonic() - started
