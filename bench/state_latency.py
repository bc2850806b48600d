"""How long a record takes through an operator with state at 200 records/s, less what the broker alone takes, measured in turns.

`at_least_once` lets results leave at once and commits every 100 ms; `exactly_once` commits every 5 ms, and its reader sees what is
committed alone.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from bench.cluster import add_broker_option, address
from bench.latency import Stamped, over_broker_ms
from bench.topics import Topics

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
    settings = ("--set", f"guarantee={guarantee}", "--set", f"commit_interval={COMMITS[guarantee]}")
    return over_broker_ms(topics, runs, "count_latency.yaml", SENT, settings, guarantee)
