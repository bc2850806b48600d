"""What a running job waits for, and what it waits with: told once; and partitions that are added under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from whorl.jobs.growth import Growth
from whorl.jobs.outage import Outages
from whorl.kafka.transactions import Transactions


@dataclass(frozen=True)
class Part:
    id: str
    keeps_state: bool


def test_a_wait_is_told_when_it_begins_and_when_it_is_over() -> None:
    told, now = list[str](), [0.0]
    outages = Outages(told.append, lambda: now[0])
    for now[0] in range(5):
        outages.now({"copy": f"commit: no answer {now[0]}", "the driver": "no broker"})
    outages.now({"the driver": "no broker"})
    now[0] = 9.0
    outages.now({})
    assert told == [
        "copy waits: commit: no answer 0; it is tried again until it works",
        "the driver waits: no broker; it is tried again until it works",
        "copy goes on after 4 s",
        "the driver goes on after 9 s",
    ]


def test_a_call_is_tried_for_ever_after_waits_that_grow_to_a_cap() -> None:
    waits, told, failures = list[float](), list[str](), iter([True] * 6 + [False])

    class Producer:
        def init_transactions(self) -> None:
            if next(failures):
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer", retriable=True))

        def poll(self, timeout: float) -> None:
            waits.append(timeout)

    Transactions(Producer(), told.append).init()
    assert waits == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert told == ["init_transactions: no answer"] * 6 + [""]


def test_without_state_new_partitions_are_taken_up_at_once_and_with_it_once_the_old_ones_are_read() -> None:
    growth, at = Growth(), {("t", 0): 3, ("t", 1): 9}
    ends: Any = {("t", 0): 5, ("t", 1): 9}
    growth.notice(Part("plain", False), {"t": 2}, lambda topics: ends)  # type: ignore[arg-type]
    growth.notice(Part("keyed", True), {"t": 2}, lambda topics: ends)  # type: ignore[arg-type]
    assert growth.stopping == {"plain"}
    growth.look(lambda id: at)
    assert growth.stopping == {"plain"}
    at["t", 0] = 5
    growth.look(lambda id: at)
    assert growth.stopping == {"plain", "keyed"}
    growth.forget("keyed")
    growth.look(lambda id: at)
    assert growth.stopping == {"plain"}
