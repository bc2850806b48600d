"""Partitions that are added to a source under a running job are read from their first record on, without a restart by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from running import CLEAN, Running, count_committed, eventually, grow, judge

from whorl.broker import Broker


def test_new_partitions_are_taken_up(
    broker: Broker, whorl_run: Callable[..., Running], forward: tuple[Path, str, str]
) -> None:
    file, source, sink = forward

    def write(partitions: range, n: int) -> None:
        producer = Producer({"bootstrap.servers": broker.address})  # a new one knows all partitions
        for partition in partitions:
            key = f"p{partition}"
            producer.produce(source, json.dumps({"key": key, "n": n}).encode(), key.encode(), partition)
        assert producer.flush(30) == 0

    write(range(4), 0)
    running = whorl_run(file)
    eventually(lambda: count_committed(broker.address, sink) == 4, what=f"the first records; {running.output}")
    grow(broker.address, source, 6)
    write(range(4, 6), 0)
    write(range(6), 1)
    eventually(lambda: count_committed(broker.address, sink) == 12, what=f"all records; {running.output}")
    assert running.stop() == 0, running.output
    assert judge(broker.address, sink, {f"p{partition}": 2 for partition in range(6)}) == CLEAN
