"""How long a record is under way at a calm rate, by the clock of one process that sends and receives it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import median
from struct import Struct
from typing import NamedTuple
from uuid import uuid4

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.failures import TooSlow
from bench.measure import watch
from bench.peers import Work
from bench.processes import temporary_folder
from bench.topics import Topics
from bench.whorl_side import run_whorl

RATE = 200
SECONDS = 6
WARM_UP = RATE
STAMP = Struct("<q")
PAYLOAD = bytes(92)


class Stamped(NamedTuple):
    """A record that carries the moment it was sent at, in ns, and how it is read off what comes out."""

    write: Callable[[int], bytes]
    read: Callable[[bytes], int]


BYTES = Stamped(lambda sent: STAMP.pack(sent) + PAYLOAD, lambda value: int(STAMP.unpack_from(value)[0]))


def over_broker_ms(
    topics: Topics,
    runs: int,
    pipeline: str = "latency.yaml",
    stamped: Stamped = BYTES,
    settings: Sequence[str] = (),
    what: str = "latency ",
) -> float:
    """Median through Whorl less the median of the broker alone, measured in turns. `settings`: options of `whorl run`."""
    name = f"latency-{uuid4().hex[:8]}"
    plain, source, sink = f"{name}-plain", f"{name}-in", f"{name}-out"
    topics.create(plain, source, sink)
    with ExitStack() as stack:
        stack.callback(topics.delete, plain, source, sink)
        whorl = stack.enter_context(
            run_whorl(pipeline, Work(topics.address, name, source, sink), temporary_folder(stack), *settings)
        )
        stack.callback(whorl.interrupt)
        await_first(topics, source, sink, whorl.check, stamped)
        trip_ms(topics, source, sink, stamped)  # broker and clients get warm
        broker_alone, through_whorl = [], []
        for number in range(1, runs + 1):
            broker_alone.append(median(trip_ms(topics, plain, plain, stamped)))
            through_whorl.append(median(trip_ms(topics, source, sink, stamped)))
            print(
                f"{what} run {number}  broker {broker_alone[-1]:.2f} ms  whorl {through_whorl[-1]:.2f} ms", flush=True
            )
        whorl.check()
    return median(through_whorl) - median(broker_alone)


def trip_ms(topics: Topics, into: str, out: str, stamped: Stamped = BYTES, seconds: float = SECONDS) -> list[float]:
    """Milliseconds from produce to consume of every record after the warm-up."""
    count = int(seconds * RATE)
    consumer = _at_end(topics, out)
    sender = threading.Thread(target=_send, args=(topics.address, into, count, stamped.write), daemon=True)
    sender.start()
    times: list[float] = []
    deadline = time.monotonic() + seconds + 15
    while len(times) < count and time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            times.append((time.monotonic_ns() - stamped.read(message.value())) / 1e6)
    sender.join()
    consumer.close()
    if len(times) < count:
        raise TooSlow(f"{len(times)} of {count} records came back from '{out}'")
    return times[WARM_UP:]


def _send(address: str, topic: str, count: int, write: Callable[[int], bytes]) -> None:
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "partitioner": "murmur2_random"})
    due = time.monotonic()
    for number in range(count):
        producer.produce(topic, write(time.monotonic_ns()), b"k%d" % number)
        producer.poll(0)
        due += 1 / RATE
        time.sleep(max(0.0, due - time.monotonic()))
    producer.flush(10)


def _at_end(topics: Topics, topic: str) -> Consumer:
    consumer = Consumer({"bootstrap.servers": topics.address, "group.id": "bench.latency", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, end) for partition, end in topics.ends(topic)])
    return consumer


def await_first(topics: Topics, source: str, sink: str, check: Callable[[], None], stamped: Stamped = BYTES) -> None:
    """Sends one record and waits until it is through: the pipeline is up."""
    topics.load(source, [(b"first", stamped.write(0))])
    watch(lambda: topics.committed_end(sink), 1, check, timeout=120)
