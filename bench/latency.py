"""How long a record is under way at a calm rate, by the clock of one process that sends and receives it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from statistics import median
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


class Stamped(NamedTuple):
    """A record that carries the moment it was sent at, in ns, in the place of %d; and how it is read off what comes out."""

    text: bytes
    read: Callable[[bytes], int]


BYTES = Stamped(b"%020d" + b"." * 80, lambda value: int(value[:20]))


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


def trip_ms(
    topics: Topics, into: str, out: str, stamped: Stamped = BYTES, seconds: float = SECONDS, rate: int = RATE
) -> list[float]:
    """Milliseconds from produce to consume of every record after the first second. The sender is a process of its own, which has the same
    clock: in one process it would take the interpreter from the receiver."""
    count = int(seconds * rate)
    consumer = _at_end(topics, out)
    sender = get_context("spawn").Process(target=_send, args=(topics.address, into, count, rate, stamped.text))
    sender.start()
    times: list[float] = []
    deadline = time.monotonic() + seconds + 30
    read = stamped.read
    while len(times) < count and time.monotonic() < deadline:
        first = consumer.poll(0.1)
        if first is None:
            continue
        bulk = [first, *consumer.consume(10_000, 0)] if rate > RATE else [first]
        now = time.monotonic_ns()
        times += [(now - read(each.value())) / 1e6 for each in bulk if each.error() is None]
    sender.join(30)
    consumer.close()
    if len(times) < count:
        raise TooSlow(f"{len(times)} of {count} records came back from '{out}'")
    return times[rate:]


def percentile(times: Sequence[float], share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


def _send(address: str, topic: str, count: int, rate: int, text: bytes) -> None:
    """One record at a time; of many a second as many as are due, a thousand times a second, with the client's own patience: a broker on the
    same cores would else be busy with requests of a few records each, whatever is between."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "linger.ms": 0 if rate <= RATE else 5,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    began, sent = time.monotonic(), 0
    while sent < count:
        due = min(int((time.monotonic() - began) * rate) + 1, count)
        for number in range(sent, due):
            producer.produce(topic, text % time.monotonic_ns(), b"k%d" % number)
        sent = max(sent, due)
        producer.poll(0)
        time.sleep(max(0.0, min(began + sent / rate - time.monotonic(), 1.0)) or 0.001)
    producer.flush(30)


def _at_end(topics: Topics, topic: str) -> Consumer:
    consumer = Consumer({"bootstrap.servers": topics.address, "group.id": "bench.latency", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, end) for partition, end in topics.ends(topic)])
    return consumer


def await_first(topics: Topics, source: str, sink: str, check: Callable[[], None], stamped: Stamped = BYTES) -> None:
    """Sends one record and waits until it is through: the pipeline is up."""
    topics.load(source, [(b"first", stamped.text % 0)])
    watch(lambda: topics.committed_end(sink), 1, check, timeout=120)
