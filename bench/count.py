"""A running count and sum per key beside Kafka Streams, Quix Streams and Spark's own state by key in Python.

Kafka to Kafka, one result for every record, whole numbers under keys drawn at random. Exactly once with a commit every 100 ms
and a changelog of the state; only Spark's own (`per_key`) is at least once and commits by batches. `whorl` is the built-in
operator, `whorl_json` a `KeyedOperator` in Python on json.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench import records
from bench.cluster import add_broker_option, address
from bench.peers import KafkaStreams, PerKey, Quix, System
from bench.records import JSON, TEXT, Written
from bench.throughput import Run, Scenario, compared, interleaved, load, ready
from bench.topics import Topics
from bench.whorl_side import Whorl

KEYS = (10_000, 1_000_000)
PEERS = ("kafka_streams", "quix", "per_key")
OWN_PYTHON = "whorl_json"


@dataclass(frozen=True, slots=True)
class Side:
    system: System
    share: float = 1.0
    """Of the records: as many as its speed needs for a steady run."""
    written: Written = TEXT


SIDES = (
    Side(KafkaStreams("Count")),
    Side(Whorl("count.yaml")),
    Side(Whorl("count_json.yaml", OWN_PYTHON), 0.5, JSON),
    Side(Quix("count"), 0.1),
    Side(PerKey(), 0.2),
)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--records", type=int, default=1_000_000, help="records of the fastest sides; the others take a share of it"
    )
    parser.add_argument("--runs", type=int, default=3, help="how often each side runs")
    parser.add_argument("--keys", type=int, action="append", help="that many keys instead; may be repeated")
    names = [side.system.name for side in SIDES]
    parser.add_argument("--only", choices=names, action="append", help="run this side alone; may be repeated")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    able = ready([side.system for side in SIDES if side.system.name in (options.only or [side.system.name])])
    sides = [side for side in SIDES if side.system in able]
    with address(options.broker) as broker:
        topics = Topics(broker)
        found = {
            keys: interleaved(able, _loaded(topics, sides, options.records, keys), topics, options.runs)
            for keys in options.keys or KEYS
        }
    for keys, runs in found.items():
        print(f"count keys={keys} records/s: {_medians(runs)}")
    print(f"count KeyedOperator {_ratios(found, OWN_PYTHON, PEERS[:1])}")
    print(f"count {_ratios(found, 'whorl', PEERS)}")
    return 0


def _loaded(topics: Topics, sides: Sequence[Side], count: int, keys: int) -> list[Scenario]:
    """Sides with as many records of the same kind read the same topic."""
    wanted = [(int(count * side.share), side.written) for side in sides]
    loaded = {(size, written): _scenario(topics, size, keys, written) for size, written in set(wanted)}
    return [loaded[each] for each in wanted]


def _scenario(topics: Topics, size: int, keys: int, written: Written) -> Scenario:
    name = f"count-{keys}"
    topic = load(topics, name, records.amounts(size, keys, written))
    return Scenario(name, topic, size, size, records.totals(size, keys, written))


def _medians(runs: Sequence[Run]) -> str:
    names = dict.fromkeys(run.system for run in runs)
    return " ".join(f"{name}={median(run.rate for run in runs if run.system == name):,.0f}" for name in names)


def _ratios(found: Mapping[int, Sequence[Run]], ours: str, peers: Sequence[str]) -> str:
    return " | ".join(
        f"keys={keys} " + " ".join(f"{ours}/{peer}={compared(runs, peer, ours)}" for peer in peers)
        for keys, runs in found.items()
    )
