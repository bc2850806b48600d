"""How long a record takes through an operator with state at 200 records/s, less what the broker alone takes, measured in turns.

`at_least_once` lets results leave at once and commits every 100 ms; `exactly_once` commits every 5 ms, and its reader sees what is
committed alone.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from statistics import median
from uuid import uuid4

from bench.cluster import add_broker_option, address
from bench.latency import Stamped, await_first, trip_ms
from bench.peers import Work
from bench.processes import temporary_folder
from bench.topics import Topics
from bench.whorl_side import run_whorl

SENT = Stamped(lambda sent: b'{"sent": %d}' % sent, lambda value: int(json.loads(value)["sent"]))
COMMITS = {"at_least_once": "100ms", "exactly_once": "5ms"}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=5, help="how often each side is measured")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    with address(options.broker) as broker:
        topics = Topics(broker)
        over = {guarantee: _over_broker_ms(topics, guarantee, options.runs) for guarantee in COMMITS}
    print("latency over_broker_ms " + " ".join(f"{guarantee}={ms:.2f}" for guarantee, ms in over.items()))
    return 0


def _over_broker_ms(topics: Topics, guarantee: str, runs: int) -> float:
    name = f"latency-{uuid4().hex[:8]}"
    plain, source, sink = f"{name}-plain", f"{name}-in", f"{name}-out"
    topics.create(plain, source, sink)
    settings = ("--set", f"guarantee={guarantee}", "--set", f"commit_interval={COMMITS[guarantee]}")
    with ExitStack() as stack:
        stack.callback(topics.delete, plain, source, sink)
        work = Work(topics.address, name, source, sink)
        whorl = stack.enter_context(run_whorl("count_latency.yaml", work, temporary_folder(stack), *settings))
        stack.callback(whorl.interrupt)
        await_first(topics, source, sink, whorl.check, SENT)
        trip_ms(topics, source, sink, SENT)  # broker and clients get warm
        alone, through = [], []
        for number in range(1, runs + 1):
            alone.append(median(trip_ms(topics, plain, plain, SENT)))
            through.append(median(trip_ms(topics, source, sink, SENT)))
            print(f"{guarantee} run {number}  broker {alone[-1]:.2f} ms  whorl {through[-1]:.2f} ms", flush=True)
        whorl.check()
    return median(through) - median(alone)
