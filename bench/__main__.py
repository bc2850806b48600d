"""`python -m bench NAME`: each benchmark is a module with `add_options` and `main`; its last line is its result."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from types import FrameType

from confluent_kafka import KafkaException

from bench import (
    api,
    components,
    cost,
    count,
    end_to_end,
    exactly_once,
    failover,
    forward,
    keys,
    memory,
    overhead,
    processor,
    query,
    recovery,
    recursion,
    rescale,
    start,
)
from bench.failures import BenchFailed
from whorl.errors import WhorlError

BENCHMARKS = {
    "forward": forward, "count": count, "query": query, "exactly_once": exactly_once, "recovery": recovery, "keys": keys,
    "cost": cost, "rescale": rescale, "latency": end_to_end, "processor": processor, "memory": memory, "start": start,
    "components": components, "recursion": recursion, "failover": failover, "api": api, "overhead": overhead,
}  # fmt: skip


def main() -> int:
    parser = ArgumentParser(prog="python -m bench", description="Measures Whorl beside its peers.")
    commands = parser.add_subparsers(dest="benchmark", required=True)
    for name, module in BENCHMARKS.items():
        module.add_options(commands.add_parser(name, help=(module.__doc__ or "").splitlines()[0]))
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    try:
        code: int = BENCHMARKS[options.benchmark].main(options)
        return code
    except (WhorlError, BenchFailed, KafkaException) as error:
        print(f"{options.benchmark} failed: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130


def _interrupted(number: int, frame: FrameType | None) -> None:
    """Both signals unwind the stack, so that everything started is ended; also in a background shell job. One that comes
    while that is under way, as `timeout` sends it, must not cut it short."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
