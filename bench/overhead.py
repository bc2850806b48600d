"""Ten native transforms beside the same ten in hand-written PySpark, and a folder of many small files.

Both sides at least once, by Spark's own Kafka writer, with all that `bench.query` has equal. The files are rows of JSON, one a file; Whorl reads
them with a file source, to a topic, until all are there.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from bench import records
from bench.cluster import add_broker_option, address
from bench.failures import WrongCount
from bench.peers import Work
from bench.processes import temporary_folder
from bench.query import against_bare, in_turns, loaded, throughput
from bench.query_sides import Bare, Side, WhorlQuery
from bench.throughput import SKIPPED
from bench.topics import Topics
from bench.whorl_side import run_whorl

PARTS = ("transforms", "files")
TIMEOUT_S = 600


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=1_200_000, help="records of the topic")
    parser.add_argument("--max-per-batch", type=int, default=100_000, help="records of one batch")
    parser.add_argument("--files", type=int, default=10_000, help="how many small files")
    parser.add_argument("--runs", type=int, default=3, help="how often each side runs")
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part alone; may be repeated")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    parts, ratio = options.only or PARTS, SKIPPED
    with address(options.broker) as broker:
        topics = Topics(broker)
        if "files" in parts:
            seconds = _files(topics, options.files)
            print(
                f"files    {options.files:,} small files read in {seconds:.1f} s, the start of Spark with them",
                flush=True,
            )
        if "transforms" in parts:
            ratio = f"{_transforms(topics, options):.2f}"
    print(f"overhead whorl/bare={ratio}")
    return 0


def _transforms(topics: Topics, options: Namespace) -> float:
    count = options.records
    job = loaded(topics, "ten", records.json(count), count, records.kept(count), options.max_per_batch)
    sides: list[Side] = [Bare("ten"), WhorlQuery("overhead.yaml", "at_least_once")]
    return against_bare(in_turns(sides, job, topics, options.runs, throughput), "at_least_once")


def _files(topics: Topics, count: int) -> float:
    """Seconds until the sink holds a record of each file."""
    name = f"files-{uuid4().hex[:8]}"
    topics.create(name)
    with ExitStack() as stack:
        stack.callback(topics.delete, name)
        folder, inbox = temporary_folder(stack), temporary_folder(stack)
        _write(inbox, count)
        start = time.monotonic()
        work = Work(topics.address, name, str(inbox), name)
        options = ("--until-caught-up", "--set", f"checkpoints={temporary_folder(stack)}")
        stack.enter_context(run_whorl("small_files.yaml", work, folder, *options)).wait(TIMEOUT_S)
        seconds = time.monotonic() - start
        if (found := topics.count(name)) != count:
            raise WrongCount(f"'{name}' holds {found:,} records, {count:,} were due")
    return seconds


def _write(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"{number:06}.json").write_text(f'{{"id": {number}, "who": "a{number % 7}"}}\n')
