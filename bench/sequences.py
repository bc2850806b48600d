"""Keyed sequence numbers: fed into a topic without loss or repetition, and judged where they come out.

For every key the numbers 0, 1, 2, … are sent. What comes out is right if it is the same numbers for every key, once
each, in order.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from bench.failures import FeederFailed
from bench.topics import QUIET

KEYS = 1000
TICK_S = 0.01
# A broker that was killed comes back: nothing may time out, be lost or be sent twice meanwhile.
FEEDING = {
    "enable.idempotence": True,
    "message.timeout.ms": 0,
    "linger.ms": 5,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",
    "reconnect.backoff.max.ms": 500,
    "queue.buffering.max.messages": 1_000_000,
}


def numbered(sent: int) -> tuple[bytes, bytes]:
    number, key = divmod(sent, KEYS)
    return b"%d" % key, b'{"k": %d, "n": %d}' % (key, number)


class Feeder:
    """Sends at a steady rate in a thread of its own until stopped; waits while the broker is away."""

    def __init__(self, address: str, topic: str, rate: int, record: Callable[[int], tuple[bytes, bytes]]) -> None:
        """`record`: key and value of the n-th one."""
        self._producer = Producer({"bootstrap.servers": address, **QUIET, **FEEDING})
        self._topic, self._record = topic, record
        self._per_tick = max(1, int(rate * TICK_S))
        self._stopped = threading.Event()
        self._failure: KafkaError | None = None
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def finish(self, least: int = 0, meanwhile: Callable[[], None] = lambda: None) -> dict[int, int]:
        """Stops when at least so many were sent and all of them are acknowledged; how many numbers each key has."""
        while self.sent < least:
            meanwhile()
            time.sleep(0.2)
        self.stop()
        left = self._producer.flush(120)
        if left or self._failure:
            raise FeederFailed(f"{left} records were not acknowledged, error: {self._failure}")
        return {key: (self.sent - key + KEYS - 1) // KEYS for key in range(min(KEYS, self.sent))}

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stopped.is_set():
            due = max(due + TICK_S, time.monotonic() - 1)
            for _ in range(self._per_tick):
                self._send()
            self._producer.poll(0)
            self._stopped.wait(max(0.0, due - time.monotonic()))

    def _send(self) -> None:
        key, value = self._record(self.sent)
        try:
            self._producer.produce(self._topic, value, key, on_delivery=self._delivered)
            self.sent += 1
        except BufferError:
            self._producer.poll(0.1)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        self._failure = self._failure or error


@dataclass(frozen=True, slots=True)
class Verdict:
    records: int
    lost: int
    doubled: int
    out_of_order: int

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.out_of_order)


def judge(sent: Mapping[int, int], seen: Iterable[tuple[int, int]]) -> Verdict:
    """`sent`: how many numbers each key has; `seen`: (key, number) in the order of the topic.

    A number that comes again is doubled; one that comes for the first time after a higher one is out of order. A number
    that was never sent counts as doubled: there is one more than there should be.
    """
    marks = {key: bytearray(count) for key, count in sent.items()}
    highest = dict.fromkeys(sent, -1)
    doubled = out_of_order = 0
    for key, number in seen:
        if key not in marks or number >= len(marks[key]) or marks[key][number]:
            doubled += 1
            continue
        marks[key][number] = 1
        out_of_order += number < highest[key]
        highest[key] = max(highest[key], number)
    lost = sum(mark.count(0) for mark in marks.values())
    return Verdict(sum(sent.values()), lost, doubled, out_of_order)


def numbers(messages: Iterable[Message]) -> Iterable[tuple[int, int]]:
    for message in messages:
        row = json.loads(message.value())
        yield row["k"], row["n"]
