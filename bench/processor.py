"""A StreamProcessor's loop of fetch, count and commit beside bare reads of the same ranges by `spark.read.format("kafka")`, in turns."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from statistics import median
from uuid import uuid4

from pyspark.sql import SparkSession

from bench import records
from bench.cluster import add_broker_option, address
from bench.failures import WrongCount
from bench.throughput import load
from bench.topics import Topics
from whorl import StreamProcessor


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=2_000_000, help="records of the topic")
    parser.add_argument("--fetches", type=int, default=10, help="into how many fetches they are cut")
    parser.add_argument("--runs", type=int, default=5, help="how often each side runs")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    with address(options.broker) as broker:
        topics = Topics(broker)
        topic = load(topics, "processor", records.plain(options.records))
        most = max(end for _, end in topics.ends(topic)) // options.fetches + 1
        session = StreamProcessor.session("bench")
        sides: dict[str, Callable[[], int]] = {
            "bare": lambda: _bare(session, topics, topic, most),
            "loop": lambda: _loop(session, broker, topic, most, in_rdd=False),
            "rdd": lambda: _loop(session, broker, topic, most, in_rdd=True),
        }
        seconds = _in_turns(sides, options.runs, options.records)
        session.stop()
    bare = median(seconds["bare"])
    print(f"processor loop/bare={median(seconds['loop']) / bare:.2f} rdd/bare={median(seconds['rdd']) / bare:.2f}")
    return 0


def _in_turns(sides: dict[str, Callable[[], int]], runs: int, expected: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(runs + 1):
        for name, run in sides.items():
            began = time.monotonic()
            if (found := run()) != expected:
                raise WrongCount(f"{name} counted {found} of {expected}")
            if number:  # the first is for Spark's code to get warm
                seconds[name].append(time.monotonic() - began)
        if number:
            print(f"run {number} " + " ".join(f"{name} {each[-1]:.2f} s" for name, each in seconds.items()), flush=True)
    return seconds


class _Count(StreamProcessor):
    total = 0
    in_rdd = False

    def process(self) -> None:
        self.total += self.fetch(lambda record: 1).count() if self.in_rdd else self.fetch().count()
        self.commit()


def _loop(session: SparkSession, broker: str, topic: str, most: int, in_rdd: bool) -> int:
    with _Count(topic, f"bench-{uuid4().hex[:8]}", spark=session, broker=broker, max_messages=most) as loop:
        loop.in_rdd = in_rdd
        loop.run(until_caught_up=True)
        return loop.total


def _bare(session: SparkSession, topics: Topics, topic: str, most: int) -> int:
    ends, total, at = dict(topics.ends(topic)), 0, 0
    while at < max(ends.values()):
        starts = {partition: min(at, end) for partition, end in ends.items()}
        stops = {partition: min(at + most, end) for partition, end in ends.items()}
        options = {"startingOffsets": json.dumps({topic: starts}), "endingOffsets": json.dumps({topic: stops})}
        reader = (
            session.read.format("kafka").option("kafka.bootstrap.servers", topics.address).option("subscribe", topic)
        )
        total += reader.options(**options).load().count()
        at += most
    return total
