"""The job server's REST side: requests made from its own schema, the list of many jobs beside an empty route, and what it takes when idle."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bench.api_fuzz import fuzz
from bench.api_load import p95
from bench.cluster import add_broker_option, address
from bench.failures import BenchFailed
from bench.places import LOGS, PYTHON
from bench.processes import PROC, Process
from whorl.broker.ports import free_port
from whorl.server.bundles import Bundles, Submission
from whorl.server.inspection import inspect
from whorl.server.records import JobRecord
from whorl.server.store import Store

PIPELINE = """\
name: listed
sources:
  numbers: {type: kafka, topic: numbers, key: k, schema: {k: string, n: long}}
operators:
  - {id: big, type: filter, where: n > 10}
  - {id: total, type: sum, of: n, from: big, key: k}
sinks:
  totals: {type: kafka, topic: totals, from: total}
"""
TIMEOUT_S = 120
PAGE = 4096


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=100, help="jobs that the server lists")
    parser.add_argument("--clients", type=int, default=20, help="that ask at the same time")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="list and empty route in turns, this often")
    parser.add_argument("--examples", type=int, default=25, help="requests made up for each route, right and wrong")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    with address(options.broker) as broker, TemporaryDirectory(prefix="whorl-bench-") as folder:
        _fill(Path(folder), broker, options.jobs)
        with _server(Path(folder), broker) as (url, process):
            megabytes, share = _idle(process.pid, options.seconds)
            print(f"idle with {options.jobs} jobs: {megabytes:.0f} MB, {share:.1%} of a core", flush=True)
            ratio = _listed(url, options)
            routes, requests, errors = fuzz(url, options.examples)
            process.check()
    print(f"fuzz: {requests} requests to {routes} routes, {errors} server errors", flush=True)
    print(f"api routes_fuzzed={routes} server_errors={errors} list_p95/empty_p95={ratio:.2f}")
    return 1 if errors else 0


def _fill(folder: Path, broker: str, jobs: int) -> None:
    """As if so many pipelines had been submitted; that each is looked at in a process of its own is not what is measured."""
    upload = Submission("pipeline.yaml", {"pipeline.yaml": PIPELINE.encode()})
    known = inspect(upload, None, (f"broker={broker}",))
    bundle, store = Bundles(folder / "bundles").keep(upload), Store(folder / "jobs.db")
    store.take()
    for number in range(jobs):
        name = f"listed-{number}"
        store.add(
            JobRecord(
                id=f"{number:010x}",
                name=name,
                pipeline=name,
                file=upload.file,
                bundle=bundle,
                settings=[f"broker={broker}"],
                known=known.model_copy(update={"pipeline": name}),
                created=time.time(),
                reason="waits for its turn",
            )
        )
    store.close()


@contextmanager
def _server(folder: Path, broker: str) -> Iterator[tuple[str, Process]]:
    port = free_port(set())
    command = (
        PYTHON,
        "-m",
        "whorl",
        "serve",
        "--port",
        str(port),
        "--data",
        folder,
        "--task-managers",
        "0",
        "--broker",
        broker,
    )
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + TIMEOUT_S
    with Process(command, LOGS / "serve.log") as process:
        while not _answers(url):
            process.check()
            if time.monotonic() > until:
                raise BenchFailed(f"the server was not up after {TIMEOUT_S} s:\n{process.tail()}")
            time.sleep(0.1)
        yield url, process


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=5).is_success
    except httpx.HTTPError:
        return False


def _idle(pid: int, seconds: float) -> tuple[float, float]:
    """Megabytes that it holds, and the share of a core that it takes while nobody asks."""
    before = _cpu_seconds(pid)
    time.sleep(seconds)
    resident = int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE
    return resident / 1e6, (_cpu_seconds(pid) - before) / seconds


def _cpu_seconds(pid: int) -> float:
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _listed(url: str, options: Namespace) -> float:
    """The middle of the rounds."""
    listed = len(json.loads(httpx.get(f"{url}/jobs").content)["jobs"])
    if listed != options.jobs:
        raise BenchFailed(f"the server lists {listed} jobs, not {options.jobs}")
    ratios = []
    for number in range(1, options.rounds + 1):
        empty = p95(url, "/healthz", options.clients, options.seconds)
        full = p95(url, "/jobs", options.clients, options.seconds)
        ratios.append(full / empty)
        print(
            f"list round {number}: {options.clients} clients, p95 {full * 1000:.1f} ms for {listed} jobs, "
            f"{empty * 1000:.1f} ms for an empty route",
            flush=True,
        )
    return sorted(ratios)[len(ratios) // 2]
