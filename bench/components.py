"""Connected components from a topic to quiet, beside the same in DataFrames on the same Spark and, where the graph is random, beside
Pathway; more edges, hops, and how it grows.

The DataFrames alternate large-star and small-star steps, which is what GraphFrames does; Pathway iterates smallest labels. All sides read
the same topic with as many cores, and start to count when what runs them stands: the DataFrames' session has done the work once before,
with few edges; of Whorl the broker alone has. What each found is compared with scipy.
Whorl's labels are read from its table by a consumer that shares nothing with it.
"""

from __future__ import annotations

import json
import re
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import uuid4

import numpy as np
import pyarrow.parquet as pq
from pyarrow import csv

from bench import graph_edges
from bench.cluster import add_broker_option, address
from bench.failures import ProcessFailed, Skipped, TooSlow, WrongCount
from bench.graph_edges import Edges
from bench.graph_table import TABLE, LabelTable, labels_in
from bench.jars import connector
from bench.peers import Work, own_environment
from bench.places import LOGS, PEERS, PYTHON
from bench.processes import Process, memory_mb, spark_files_in, temporary_folder
from bench.throughput import SKIPPED
from bench.topics import Topics
from bench.whorl_side import run_whorl, workers

PARTS = ("random", "powerlaw", "chain", "added", "hops", "linear")
VERTICES, EDGES = 200_000, 400_000
CHAIN, CHAIN_PARTITIONS = 2_000, 16
ADDED = 1_000
HOPS = 1_000
SMALL, LARGE = 100_000, 2_000_000
TIMEOUT_S = 600
MASTER = "local[2]"
PATHWAY, PATHWAY_THREADS = "pathway==0.33.0", "2"
QUIET = re.compile(r"quiet after ([\d,]+) rounds, ([\d,]+) messages, ([\d.]+) s")
SECONDS = re.compile(r"seconds=([\d.]+)")
STAR = re.compile(r"seconds=([\d.]+) iterations=(\d+)")


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges in a topic, and the labels that are right."""

    name: str
    topic: str
    topics: Topics
    edges: Edges
    labels: dict[int, int]


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    note: str
    memory_mb: float = 0.0


Side = Callable[[Graph], Run]


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--scale", type=float, default=1.0, help="of the graphs: 0.1 for a tenth of vertices and edges")
    parser.add_argument("--runs", type=int, default=2, help="how often each side runs; the middle counts")
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part alone; may be repeated")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    parts = options.only or PARTS
    figures = dict.fromkeys(PARTS, SKIPPED)
    with address(options.broker) as broker:
        topics, fine = Topics(broker), Topics(broker, CHAIN_PARTITIONS)
        vertices, edges = (int(each * options.scale) for each in (VERTICES, EDGES))
        graphs: dict[str, Callable[[], Graph]] = {
            "random": lambda: _loaded(topics, "random", graph_edges.random_edges(vertices, edges)),
            "powerlaw": lambda: _loaded(topics, "powerlaw", graph_edges.power_law(vertices, edges)),
            "chain": lambda: _loaded(fine, "chain", graph_edges.chain(CHAIN)),
        }
        _whorl(
            _loaded(topics, "warm", graph_edges.random_edges(vertices // 4, edges // 4))
        )  # so that the broker is warm
        for name in (name for name in graphs if name in parts):
            figures[name] = f"{_against_peers(graphs[name](), options.runs):.1f}"
        if "added" in parts:
            figures["added"] = f"{_added(graphs['random']()):.2f}"
        if "hops" in parts:
            figures["hops"] = f"{_hops(Topics(broker, 2)):.0f}"
        if "linear" in parts:
            figures["linear"] = f"{_linear(topics, options.scale):.2f}"
    print(
        f"components random={figures['random']} powerlaw={figures['powerlaw']} chain={figures['chain']}"
        f" added_1000_s={figures['added']} hops_per_s={figures['hops']} linear={figures['linear']}"
        # A label that is wrong has ended the run before.
        f" correct={'yes' if set(parts) - {'hops'} else SKIPPED}"
    )
    return 0


def _loaded(topics: Topics, name: str, edges: Edges) -> Graph:
    topic = f"{name}-{uuid4().hex[:8]}"
    topics.create(topic)
    topics.load(topic, graph_edges.records(edges))
    return Graph(name, topic, topics, edges, graph_edges.labels(edges))


# -- the sides ---------------------------------------------------------------------------------------------------------------------


def _against_peers(graph: Graph, runs: int) -> float:
    """How many times as fast as the DataFrames Whorl is; beside Pathway, that is printed."""
    warm_up = _loaded(graph.topics, "warm", graph_edges.random_edges(2_000, 4_000))
    took = _in_turns(graph, {"whorl": _whorl, "stars": lambda graph: _stars(graph, warm_up)}, runs)
    if graph.name == "random":
        print(f"{graph.name} whorl/pathway={_against_pathway(graph, took['whorl'])}", flush=True)
    return took["stars"] / took["whorl"]


def _against_pathway(graph: Graph, ours: float) -> str:
    """By one run, since it takes a minute. Where it cannot run, that is said, and all else goes on."""
    try:
        done = _pathway(graph, own_environment("pathway", PATHWAY))
    except (Skipped, ProcessFailed, TooSlow) as reason:
        print(f"pathway {SKIPPED}: {reason}", flush=True)
        return SKIPPED
    print(f"{graph.name:8} run 1  pathway {done.seconds:8.2f} s", flush=True)
    return f"{done.seconds / ours:.1f}"


def _in_turns(graph: Graph, sides: Mapping[str, Side], runs: int) -> dict[str, float]:
    """The middle of the seconds that each took."""
    found: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(1, runs + 1):
        for side, run in sides.items():
            done = run(graph)
            found[side].append(done.seconds)
            print(f"{graph.name:8} run {number}  {side:7} {done.seconds:8.2f} s  {done.note}".rstrip(), flush=True)
    return {side: median(seconds) for side, seconds in found.items()}


def _whorl(graph: Graph) -> Run:
    with _working(graph) as (work, folder):
        with run_whorl("components.yaml", work, folder, "--until-quiet") as process:
            most = _watched(process)
        said = QUIET.search(process.log.read_text(errors="replace"))
        if said is None:
            raise TooSlow(f"the run did not end quietly; its log:\n{process.tail()}")
        _check("whorl", labels_in(graph.topics, work.sink), graph)
    return Run(float(said[3]), f"{said[1]} rounds, {said[2]} messages", most)


def _stars(graph: Graph, warm_up: Graph) -> Run:
    with ExitStack() as stack:
        folder = temporary_folder(stack)
        arguments = (graph.topics.address, connector(), MASTER, warm_up.topic, graph.topic, folder)
        command = (PYTHON, PEERS / "star_components.py", *arguments)
        log = LOGS / f"stars-{graph.topic}.log"
        process = stack.enter_context(Process(command, log, spark_files_in(folder) | {"PYSPARK_PYTHON": str(PYTHON)}))
        process.wait(TIMEOUT_S)
        said = STAR.search(log.read_text(errors="replace"))
        if said is None:
            raise TooSlow(f"the peer did not say how long it took; its log:\n{process.tail()}")
        rows = pq.read_table(folder / "found").to_pydict()
        _check("stars", dict(zip(rows["vertex"], rows["component"], strict=True)), graph)
    return Run(float(said[1]), f"{said[2]} iterations")


def _pathway(graph: Graph, python: Path) -> Run:
    with ExitStack() as stack:
        file = temporary_folder(stack) / "found.csv"
        command = (python, PEERS / "pathway_components.py", graph.topics.address, graph.topic, file)
        log = LOGS / f"pathway-{graph.topic}.log"
        process = stack.enter_context(Process(command, log, {"PATHWAY_THREADS": PATHWAY_THREADS}))
        process.wait(TIMEOUT_S)
        said = SECONDS.search(log.read_text(errors="replace"))
        if said is None:
            raise TooSlow(f"Pathway did not say how long it took; its log:\n{process.tail()}")
        _check("pathway", _last_of_each(file), graph)
    return Run(float(said[1]), "")


def _last_of_each(file: Path) -> dict[int, int]:
    """Pathway tells changes: a row that comes has a `diff` of 1, one that goes of -1."""
    rows = csv.read_csv(file).to_pylist()
    rows.sort(key=lambda row: (row["time"], row["diff"]))
    return {row["vertex"]: row["component"] for row in rows if row["diff"] > 0}


def _check(side: str, found: dict[int, int], graph: Graph) -> None:
    if found != graph.labels:
        wrong = [vertex for vertex in graph.labels if found.get(vertex) != graph.labels[vertex]]
        raise WrongCount(
            f"{side}: {len(wrong):,} of {len(graph.labels):,} labels of '{graph.name}' are wrong, {wrong[:5]}"
        )


def _watched(process: Process) -> float:
    """The most memory that its workers had, until it ended."""
    most, deadline = 0.0, time.monotonic() + TIMEOUT_S
    while process.ended() is None:
        most = max(most, memory_mb(workers(process)))
        if time.monotonic() > deadline:
            raise TooSlow(f"not quiet after {TIMEOUT_S} s; its log:\n{process.tail()}")
        time.sleep(0.2)
    return most


@contextmanager
def _working(graph: Graph) -> Iterator[tuple[Work, Path]]:
    """A name of its own, an empty table, and a folder."""
    name = f"components-{uuid4().hex[:8]}"
    graph.topics.create(f"{name}-table", config=TABLE)
    with ExitStack() as stack:
        stack.callback(graph.topics.delete_of, name)
        yield Work(graph.topics.address, name, graph.topic, f"{name}-table"), temporary_folder(stack)


# -- more edges, hops, growth ---------------------------------------------------------------------------------------------------------


def _added(graph: Graph) -> float:
    """Seconds from the moment that the edges are sent until the table has every label that they change."""
    more = graph_edges.random_edges(int(graph.edges.max()) + 1, ADDED, seed=2)
    after = graph_edges.labels(np.concatenate([graph.edges, more]))
    with _working(graph) as (work, folder), run_whorl("components.yaml", work, folder) as process:
        table = LabelTable(work.broker, work.sink, graph.topics.partitions)
        table.follow(lambda: table.labels == graph.labels, process.check, TIMEOUT_S)
        started = time.monotonic()
        graph.topics.load(graph.topic, graph_edges.records(more))
        table.follow(lambda: table.labels == after, process.check, TIMEOUT_S)
        took = time.monotonic() - started
        table.close()
    changed = sum(after[vertex] != graph.labels.get(vertex) for vertex in after)
    print(f"added    {ADDED:,} edges in {took:.2f} s, {changed:,} labels changed", flush=True)
    return took


def _hops(topics: Topics) -> float:
    name = f"hops-{uuid4().hex[:8]}"
    work = Work(topics.address, name, f"{name}-in", f"{name}-out")
    topics.create(work.source, work.sink)
    topics.load(work.source, [(b"", json.dumps({"hops": HOPS}).encode())])
    with ExitStack() as stack:
        stack.callback(topics.delete_of, name)
        process = stack.enter_context(run_whorl("hops.yaml", work, temporary_folder(stack), "--until-quiet"))
        process.wait(TIMEOUT_S)
        told = {row["left"]: row["at"] for row in (json.loads(each.value()) for each in topics.read(work.sink))}
    if told.keys() != {0, HOPS}:
        raise WrongCount(f"the message was seen with {sorted(told)} hops left, not with {HOPS} and 0")
    rate: float = HOPS / (told[0] - told[HOPS])
    print(f"hops     {HOPS:,} in {told[0] - told[HOPS]:.2f} s", flush=True)
    return rate


def _linear(topics: Topics, scale: float) -> float:
    """Seconds per edge of the large graph over those of the small one."""
    found = {}
    sizes = int(SMALL * scale), int(LARGE * scale)
    for edges in sizes:
        graph = _loaded(topics, "linear", graph_edges.random_edges(edges // 2, edges))
        found[edges] = len(graph.labels), (run := _whorl(graph))
        print(f"linear   {edges:,} edges {run.seconds:8.2f} s  {run.note}, {run.memory_mb:,.0f} MB", flush=True)
        topics.delete(graph.topic)
    (few, small), (many, large) = (found[edges] for edges in sizes)
    print(
        f"memory   {(large.memory_mb - small.memory_mb) * 1024 * 1024 / (many - few):,.0f} bytes a vertex", flush=True
    )
    return large.seconds / sizes[1] / (small.seconds / sizes[0])
