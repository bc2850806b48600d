"""Kafka to Kafka beside bare Spark, Kafka Streams and Quix Streams: throughput in turns, medians, then latency.

`forward` copies bytes; `json` filters, maps and calls a Python function; `latency` is at least once at 200 records/s.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bench import records
from bench.cluster import add_broker_option, address
from bench.latency import over_broker_ms
from bench.peers import BareSpark, KafkaStreams, Quix
from bench.throughput import SKIPPED, Scenario, compared, interleaved, load, ready
from bench.topics import Topics
from bench.whorl_side import Whorl

PARTS = ("forward", "json", "latency")
JSON_SHARE = 0.5
QUIX_SHARE = 0.1


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
    systems = ready([KafkaStreams("Forward"), Whorl("forward.yaml"), BareSpark()])
    plain = Scenario("forward", load(topics, "forward", records.plain(count)), count, count)
    results = interleaved(systems, [plain] * len(systems), topics, runs)
    return compared(results, "bare_spark"), compared(results, "kafka_streams")


def _json(topics: Topics, count: int, runs: int) -> str:
    """Each system has as many records as its speed needs for a steady run."""
    sizes = {"whorl": int(count * JSON_SHARE), "quix": int(count * QUIX_SHARE)}
    systems = ready([Quix("enrich"), Whorl("enrich.yaml")])
    loaded = [_loaded_json(topics, sizes[system.name]) for system in systems]
    return compared(interleaved(systems, loaded, topics, runs), "quix")


def _loaded_json(topics: Topics, count: int) -> Scenario:
    return Scenario("json", load(topics, "json", records.json(count)), count, records.kept(count))
