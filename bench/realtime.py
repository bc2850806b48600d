"""Latency of Spark's real-time mode through Whorl against the same query by hand, both up, measured in turns."""

from __future__ import annotations

import json
from contextlib import ExitStack
from statistics import median
from uuid import uuid4

from bench.latency import Stamped, await_first, trip_ms
from bench.measure import ratio
from bench.peers import Work
from bench.processes import Process, temporary_folder
from bench.query_sides import SPARE, Bare, QueryWork, Side, WhorlQuery
from bench.topics import Topics

PARTITIONS = 2
"""Each holds a slot for as long as the query runs."""
JSON = Stamped(
    b'{"account": "a00017", "amount": 17.25, "sent": %d}',
    lambda value: int(json.loads(value)["sent"]),
)


class Line:
    """One side with topics of its own, up and warm."""

    def __init__(self, side: Side, topics: Topics, stack: ExitStack) -> None:
        name = f"{side.name.replace('_', '-')}-realtime-{uuid4().hex[:8]}"
        self._topics, self._source, self._sink = topics, f"{name}-in", f"{name}-out"
        self.name = side.name
        topics.create(self._source, self._sink)
        stack.callback(topics.delete, self._source, self._sink)
        work = Work(topics.address, name, self._source, self._sink)
        run = QueryWork(work, temporary_folder(stack), PARTITIONS + SPARE)
        self.process: Process = side.start(run, stack)

    def warm(self) -> None:
        await_first(self._topics, self._source, self._sink, self.process.check, JSON)
        self.measure()

    def measure(self) -> float:
        figure = median(trip_ms(self._topics, self._source, self._sink, JSON))
        self.process.check()
        return figure


def realtime_ratio(address: str, runs: int) -> float:
    """Whorl's median over bare Spark's."""
    topics = Topics(address, PARTITIONS)
    with ExitStack() as stack:
        sides: list[Side] = [Bare("realtime"), WhorlQuery("query_realtime.yaml", "at_least_once")]
        bare, whorl = lines = [Line(side, topics, stack) for side in sides]
        for line in lines:
            line.warm()
        theirs, ours = [], []
        for number in range(1, runs + 1):
            theirs.append(bare.measure())
            ours.append(whorl.measure())
            print(f"realtime run {number}  bare {theirs[-1]:.2f} ms  whorl {ours[-1]:.2f} ms", flush=True)
    return ratio(ours, theirs)
