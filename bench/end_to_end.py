"""How long a record takes from produce to consume, through a Python function on the tasks host, beside the broker alone and Kafka Streams.

All are up at once and take turns, at each rate: the broker alone, Whorl and Kafka Streams at least once, both exactly once with a commit
every 5 ms. `state` is an operator with state at 200 records/s. `--curve` is Whorl alone at more rates, as a table.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from uuid import uuid4

from bench.cluster import add_broker_option, address
from bench.failures import Skipped
from bench.latency import SECONDS, Stamped, await_first, percentile, trip_ms
from bench.peers import KafkaStreams, Work
from bench.processes import temporary_folder
from bench.state_latency import with_state
from bench.topics import Topics
from bench.whorl_side import run_whorl

RATES = (200, 20_000)
CURVE = (200, 1_000, 5_000, 20_000, 50_000)
WARM_UPS = 4
"""Of the broker alone, in which the JVM compiles: its first 15 seconds at 20,000 records/s have a median of a second."""
COMMIT_MS = {"at_least_once": 100, "exactly_once": 5}
BOUNDS = {200: 2.0, 20_000: 5.0}
"""Milliseconds beyond the broker's own median, at least once."""
NOTE = b"." * 60
SENT = Stamped(b'{"sent": %d, "note": "' + NOTE + b'"}', lambda value: int(json.loads(value)["sent"]))


@dataclass
class Side:
    """One of those that take turns."""

    name: str
    source: str
    sink: str
    check: Callable[[], None]
    p50: dict[int, list[float]] = field(default_factory=dict)
    p99: dict[int, list[float]] = field(default_factory=dict)

    def measure(self, topics: Topics, rate: int, seconds: float) -> None:
        times = trip_ms(topics, self.source, self.sink, SENT, seconds, rate)
        self.check()
        self.p50.setdefault(rate, []).append(median(times))
        self.p99.setdefault(rate, []).append(percentile(times, 0.99))

    def at(self, rate: int) -> tuple[float, float]:
        """Medians of all turns."""
        return median(self.p50[rate]), median(self.p99[rate])


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=5, help="how often each side is measured")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="of each measurement; the first second does not count"
    )
    parser.add_argument("--rates", type=_rates, default=None, help="records a second, by comma; default 200,20000")
    parser.add_argument("--curve", action="store_true", help="Whorl and the broker alone at more rates, as a table")
    parser.add_argument("--no-state", action="store_true", help="leave out the operator with state")
    add_broker_option(parser)


def _rates(text: str) -> tuple[int, ...]:
    return tuple(int(rate) for rate in text.split(","))


def main(options: Namespace) -> int:
    rates = options.rates or (CURVE if options.curve else RATES)
    with address(options.broker) as broker:
        topics = Topics(broker)
        sides = _measured(topics, rates, options)
        if options.curve:
            print(table(sides, rates))
            return 0
        for rate in rates:
            print(verdict(sides, rate), flush=True)
        if not options.no_state:
            print(with_state(topics, options.runs), flush=True)
    print(last_line(sides, rates))
    return 0


def _measured(topics: Topics, rates: Iterable[int], options: Namespace) -> dict[str, Side]:
    with ExitStack() as stack:
        sides = {side.name: side for side in _sides(topics, stack, peers=not options.curve)}
        for side in (*[sides["broker"]] * WARM_UPS, *sides.values()):  # broker, clients and code get warm
            trip_ms(topics, side.source, side.sink, SENT, 4.0, max(rates))
        for rate in rates:
            for number in range(1, options.runs + 1):
                for side in sides.values():
                    side.measure(topics, rate, options.seconds)
                now = " ".join(
                    f"{side.name} {side.p50[rate][-1]:.2f}/{side.p99[rate][-1]:.2f}" for side in sides.values()
                )
                print(f"{rate}/s run {number} p50/p99 ms: {now}", flush=True)
    return sides


def _sides(topics: Topics, stack: ExitStack, peers: bool) -> Iterable[Side]:
    plain = f"latency-plain-{uuid4().hex[:8]}"
    topics.create(plain)
    stack.callback(topics.delete, plain)
    yield Side("broker", plain, plain, lambda: None)
    for guarantee, commit in COMMIT_MS.items():
        yield _up(f"whorl_{guarantee}", topics, stack, partial(_whorl, stack=stack, guarantee=guarantee, commit=commit))
        if peers:
            try:
                streams = KafkaStreams("Forward", guarantee=_JAVA[guarantee], commit=str(commit), linger="0")
                streams.prepare()
            except Skipped as reason:
                print(f"kafka_streams: skipped, {reason}")
                continue
            yield _up(f"streams_{guarantee}", topics, stack, partial(_streams, streams, stack=stack))


_JAVA = {"at_least_once": "at_least_once", "exactly_once": "exactly_once_v2"}


def _whorl(work: Work, stack: ExitStack, guarantee: str, commit: int) -> Callable[[], None]:
    settings = ("--set", f"guarantee={guarantee}", "--set", f"commit_interval={commit}ms")
    whorl = stack.enter_context(run_whorl("latency_python.yaml", work, temporary_folder(stack), *settings))
    stack.callback(whorl.interrupt)
    return whorl.check


def _streams(streams: KafkaStreams, work: Work, stack: ExitStack) -> Callable[[], None]:
    return streams.start(work, stack)[0].check


def _up(name: str, topics: Topics, stack: ExitStack, start: Callable[[Work], Callable[[], None]]) -> Side:
    """Started, and through with its first record."""
    run = f"{name.replace('_', '-')}-{uuid4().hex[:8]}"
    source, sink = f"{run}-in", f"{run}-out"
    topics.create(source, sink)
    stack.callback(topics.delete, source, sink)
    check = start(Work(topics.address, run, source, sink))
    await_first(topics, source, sink, check, SENT)
    return Side(name, source, sink, check)


# -- what is said ---------------------------------------------------------------------------------------------------------------------


def verdict(sides: dict[str, Side], rate: int) -> str:
    """Each bound beside its figure; those of 200 and 20,000 records/s."""
    (broker, slow), (ours, ours_slow) = sides["broker"].at(rate), sides["whorl_at_least_once"].at(rate)
    eos, _ = sides["whorl_exactly_once"].at(rate)
    bound = BOUNDS.get(rate)
    said = [
        f"over_broker={ours - broker:.2f}" + (f" (at most {bound:g})" if bound else ""),
        f"p99={ours_slow:.2f} (at most {3 * slow + 20:.2f})",
        f"exactly_once over_broker={eos - broker:.2f} (at most 20)",
        *(f"{guarantee} whorl/kafka_streams={ratio:.2f} (at most 1.3)" for guarantee, ratio in ratios(sides, rate)),
    ]
    return f"{rate}/s broker p50={broker:.2f} p99={slow:.2f} whorl p50={ours:.2f} " + ", ".join(said)


def ratios(sides: dict[str, Side], rate: int) -> list[tuple[str, float]]:
    """Of medians at the same guarantee."""
    there = [guarantee for guarantee in COMMIT_MS if f"streams_{guarantee}" in sides]
    return [(g, sides[f"whorl_{g}"].at(rate)[0] / sides[f"streams_{g}"].at(rate)[0]) for g in there]


def last_line(sides: dict[str, Side], rates: Iterable[int]) -> str:
    """Of the first rate; the ratio is the worst of all rates and both guarantees."""
    rates = list(rates)
    p50, p99 = sides["whorl_at_least_once"].at(rates[0])
    over, eos = p50 - sides["broker"].at(rates[0])[0], sides["whorl_exactly_once"].at(rates[0])[0]
    worst = max((ratio for rate in rates for _, ratio in ratios(sides, rate)), default=None)
    compared = "skipped" if worst is None else f"{worst:.2f}"
    return f"latency p50_ms={p50:.2f} p99_ms={p99:.2f} over_broker_ms={over:.2f} eos_p50_ms={eos:.2f} whorl/kafka_streams={compared}"


def table(sides: dict[str, Side], rates: Iterable[int]) -> str:
    names = {
        "broker": "broker alone",
        "whorl_at_least_once": "at least once",
        "whorl_exactly_once": "exactly once, 5 ms",
    }
    head = "| records/s | " + " | ".join(f"{name}, p50 / p99 ms" for name in names.values()) + " |"
    rows = [
        f"| {rate:,} | " + " | ".join("{:.1f} / {:.1f}".format(*sides[side].at(rate)) for side in names) + " |"
        for rate in rates
    ]
    return "\n".join([head, "|---" * (len(names) + 1) + "|", *rows])
