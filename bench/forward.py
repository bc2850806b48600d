"""Kafka to Kafka beside bare Spark, Kafka Streams and Quix Streams: throughput in turns, medians, then latency.

`forward` copies bytes; `json` filters, maps and calls a Python function; `latency` is at least once at 200 records/s.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from uuid import uuid4

from bench import records
from bench.cluster import add_broker_option, address
from bench.failures import Skipped
from bench.latency import over_broker_ms
from bench.measure import ratio
from bench.peers import BareSpark, KafkaStreams, Quix, System
from bench.throughput import Run, Scenario, interleaved
from bench.topics import Topics
from bench.whorl_side import Whorl

PARTS = ("forward", "json", "latency")
JSON_SHARE = 0.5
QUIX_SHARE = 0.1
SKIPPED = "skipped"


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--records", type=int, default=2_000_000, help="records of the forward topic; json takes a share of it"
    )
    parser.add_argument("--runs", type=int, default=3, help="how often each system runs")
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part alone; may be repeated")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    parts = options.only or PARTS
    spark = streams = quix = latency = SKIPPED
    with address(options.broker) as broker:
        topics = Topics(broker)
        if "forward" in parts:
            spark, streams = _forward(topics, options.records, options.runs)
        if "json" in parts:
            quix = _json(topics, options.records, options.runs)
        if "latency" in parts:
            latency = f"{over_broker_ms(topics, options.runs):.2f}"
    print(
        f"forward whorl/bare_spark={spark} whorl/kafka_streams={streams} whorl/quix={quix}"
        f" latency_over_broker_ms={latency}"
    )
    return 0


def _forward(topics: Topics, count: int, runs: int) -> tuple[str, str]:
    systems = _ready([KafkaStreams(), Whorl("forward.yaml"), BareSpark()])
    plain = _loaded(topics, "forward", records.plain(count), count, count)
    results = interleaved(systems, [plain] * len(systems), topics, runs)
    return _ratio(results, "bare_spark"), _ratio(results, "kafka_streams")


def _json(topics: Topics, count: int, runs: int) -> str:
    """Each system has as many records as its speed needs for a steady run."""
    sizes = {"whorl": int(count * JSON_SHARE), "quix": int(count * QUIX_SHARE)}
    systems = _ready([Quix(), Whorl("enrich.yaml")])
    loaded = [_loaded_json(topics, sizes[system.name]) for system in systems]
    return _ratio(interleaved(systems, loaded, topics, runs), "quix")


def _loaded_json(topics: Topics, count: int) -> Scenario:
    return _loaded(topics, "json", records.json(count), count, records.kept(count))


def _loaded(topics: Topics, name: str, source: Iterable[tuple[bytes, bytes]], count: int, expected: int) -> Scenario:
    topic = f"{name}-{uuid4().hex[:8]}"
    topics.create(topic)
    topics.load(topic, source)
    return Scenario(name, topic, count, expected)


def _ready(systems: Sequence[System]) -> list[System]:
    """Those that can run here; says why of the others."""
    ready = []
    for system in systems:
        try:
            system.prepare()
            ready.append(system)
        except Skipped as reason:
            print(f"{system.name} {SKIPPED}: {reason}")
    return ready


def _ratio(runs: Sequence[Run], peer: str) -> str:
    ours, theirs = ([run.rate for run in runs if run.system == name] for name in ("whorl", peer))
    return f"{ratio(ours, theirs):.2f}" if theirs else SKIPPED
