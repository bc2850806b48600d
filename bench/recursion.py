"""kill -9 at random moments under load, of two loops: one finds components, one sends every record round; then all is compared.

Labels must be those that scipy finds for the edges that were sent, in the table and in state alike; every record must have left its loop
once. Once the folder of the local copies is gone too, and once the pipeline comes back with another number of tasks.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from functools import partial
from uuid import uuid4

import numpy as np

from bench.cluster import cluster
from bench.graph_edges import labels
from bench.graph_table import COLUMN, TABLE, labels_in
from bench.killing import (
    DISK,
    TASKS,
    Killer,
    Supervised,
    add_kill_options,
    change_tasks,
    lose_disk,
    thrown,
    with_changes,
)
from bench.peers import Work
from bench.processes import temporary_folder
from bench.sequences import KEYS, Feeder, judge, numbers
from bench.topics import Topics
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.reading.reader import StateReader

GROUPS, MEMBERS = 211, 700
"""Edges stay within a group of vertices, so that there are components, and not one."""
_SCATTER = 2_654_435_761
OPERATOR = "components"


def add_options(parser: ArgumentParser) -> None:
    add_kill_options(parser, records=100_000, rate=1_000)


def main(options: Namespace) -> int:
    name, dice = f"recursion-{uuid4().hex[:8]}", thrown("recursion", options)
    with cluster() as broker, ExitStack() as stack:
        topics = Topics(broker.address)
        work = Work(broker.address, name, f"{name}-in", f"{name}-out")
        topics.create(work.source, work.sink)
        topics.create(_table(work), config=TABLE)
        folder = temporary_folder(stack)
        copies = folder / "copies"
        pipeline = stack.enter_context(Supervised("recursion.yaml", work, folder, {"state.dir": copies}))
        feeder = Feeder(broker.address, work.source, options.rate, record)
        stack.callback(feeder.stop)
        others = {DISK: partial(lose_disk, pipeline, copies), TASKS: partial(change_tasks, pipeline, dice)}
        Killer(pipeline, topics, dice, others).run(with_changes(options.kills, dice))
        sent = feeder.finish(options.records, pipeline.keep_running)
        pipeline.catch_up("--until-quiet")
        expected = labels(np.array([_edge(number) for number in range(sum(sent.values()))]))
        found = {"table": labels_in(topics, _table(work)), "state": _kept(work)}
        verdict = judge(sent, numbers(topics.read(work.sink, timeout=300)))
    wrong = {place: _differing(each, expected) for place, each in found.items()}
    for place, count in wrong.items():
        print(f"recursion {place}: {len(found[place]):,} labels, {count:,} of them wrong; {len(expected):,} are right")
    equal = "different" if any(wrong.values()) else "equal"
    print(f"recursion kills={options.kills} labels={equal} lost={verdict.lost} doubled={verdict.doubled}")
    return 0 if equal == "equal" and not (verdict.lost or verdict.doubled) else 1


def _table(work: Work) -> str:
    return f"{work.sink}.table"


def _kept(work: Work) -> dict[int, int]:
    """As `whorl state` reads it."""
    reader = StateReader.on(Cluster(KafkaClients(work.broker)), work.name)
    return {int(entry.key): entry.value for entry in reader.scan(OPERATOR) if entry.state == COLUMN}


def _differing(found: dict[int, int], expected: dict[int, int]) -> int:
    return sum(found.get(vertex) != expected.get(vertex) for vertex in found.keys() | expected.keys())


def _edge(sent: int) -> tuple[int, int]:
    rest, group = divmod(sent * _SCATTER % 2**32, GROUPS)
    rest, one = divmod(rest, MEMBERS)
    return group * MEMBERS + one, group * MEMBERS + rest % MEMBERS


def record(sent: int) -> tuple[bytes, bytes]:
    (number, key), (source, target) = divmod(sent, KEYS), _edge(sent)
    return b"%d" % key, b'{"k": %d, "n": %d, "src": %d, "dst": %d}' % (key, number, source, target)
