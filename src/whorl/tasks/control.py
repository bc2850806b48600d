"""Orders to tasks and news from them, as records of two internal topics: tasks on any host need nothing but the broker.

An order names the layout it is for, so tasks read the control topic from its start: an order is never missed and never outlives its layout.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from confluent_kafka import TopicPartition

from whorl.kafka.clients import Clients
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.tasks.layout import Place

VERSION = 1


@dataclass(frozen=True)
class Address:
    """Whom an order is for: every task of one layout of a component; a driver, by the id that it holds the pipeline with; or a member, by
    its seat."""

    pipeline: str
    uid: str
    component: str
    layout: int


@dataclass(frozen=True)
class Stop:
    """Finish the bulk, commit, end."""


@dataclass(frozen=True)
class Skip:
    """The operator never returned on this record: hand it to its error policy."""

    topic: str
    partition: int
    offset: int
    operator: str


@dataclass(frozen=True)
class Savepoint:
    """To a driver: take a savepoint, then go on, or stop."""

    id: str
    name: str
    stop: bool = False


@dataclass(frozen=True)
class Rescale:
    """To a driver: go on with so many tasks in each component, or so many logical partitions in these; 0: as it is."""

    id: str
    tasks: int = 0
    partitions: int = 0
    components: tuple[str, ...] = ()


@dataclass(frozen=True)
class Again:
    """To a driver: start this component anew; the others do not notice."""

    id: str
    component: str


@dataclass(frozen=True)
class Take:
    """To a member: run the tasks of this layout of a component. What else an assignment has is in the pipeline's file."""

    uid: str
    component: str
    layout: Mapping[str, int]
    topics: Mapping[str, Sequence[str]]
    partitions: Mapping[str, int]
    limits: Mapping[str, int]
    columns: Mapping[str, Mapping[str, str]]
    """Of topics that queries write, as they turned out."""
    slots: int
    """That all components of the job take: any of them may come to any member."""


@dataclass(frozen=True)
class Drop:
    """To a member: end the tasks of this layout, at once."""

    component: str
    layout: int


Order = Stop | Skip | Savepoint | Rescale | Again | Take | Drop
_ORDERS: dict[str, type[Order]] = {
    "stop": Stop,
    "skip": Skip,
    "savepoint": Savepoint,
    "rescale": Rescale,
    "again": Again,
    "take": Take,
    "drop": Drop,
}
DRIVER, ANSWER, MEMBER = "(driver)", "(answer)", "(member)"
"""In place of a component: an order for the driver or news of it; what became of such an order; an order for a member or news of it."""


@dataclass(frozen=True)
class Status:
    """What a task says of itself, at least every heartbeat."""

    uid: str
    component: str
    layout: int
    task: int
    attempt: int
    host: str
    pid: int
    state: str
    """running, failed or ended."""
    at: float
    figures: dict[str, Any]
    error: str = ""
    stuck: dict[str, Any] = field(default_factory=dict)
    """The order to skip that would get the task past a record on which an operator never returned."""

    @property
    def positions(self) -> dict[Place, int]:
        nested = self.figures.get("positions", {})
        return {(topic, int(p)): offset for topic, of in nested.items() for p, offset in of.items()}


def member_at(pipeline: str, seat: str) -> Address:
    """Where a member takes orders."""
    return Address(pipeline, seat, MEMBER, 0)


def status_of(value: bytes) -> Status:
    return Status(**orjson.loads(value))


def send_order(clients: Clients, to: Address, order: Order) -> None:
    name = next(name for name, kind in _ORDERS.items() if isinstance(order, kind))
    record = {"version": VERSION, "to": to.__dict__, "order": name, **order.__dict__}
    producer = clients.producer()
    producer.produce(naming.control_topic(to.pipeline), orjson.dumps(record), to.component.encode(), 0)
    producer.flush(10)


class OrderReader:
    """The orders for one layout of a component."""

    def __init__(self, clients: Clients, me: Address) -> None:
        self._me = me
        self._consumer = clients.consumer(**{"auto.offset.reset": "earliest"})
        self._consumer.assign([TopicPartition(naming.control_topic(me.pipeline), 0, 0)])

    def next(self, timeout: float) -> Order | None:
        """The next order for us, or None when none came in time."""
        until = time.monotonic() + timeout
        while True:
            message = self._consumer.poll(max(until - time.monotonic(), 0))
            if message is None:
                return None
            if message.error() is None:
                fields = orjson.loads(message.value())
                if Address(**fields.pop("to")) == self._me:
                    fields.pop("version")
                    return _ORDERS[fields.pop("order")](**fields)

    def close(self) -> None:
        self._consumer.close()


class StatusWriter:
    def __init__(self, clients: Clients, pipeline: str) -> None:
        self._topic = naming.status_topic(pipeline)
        self._producer = clients.producer(**{"message.timeout.ms": 10_000, "queue.buffering.max.messages": 1000})

    def write(self, status: Status) -> None:
        with suppress(BufferError):  # the broker is away; the next heartbeat says the same
            self._producer.produce(self._topic, orjson.dumps(status), f"{status.component}/{status.task}".encode(), 0)
        self._producer.poll(0)

    def flush(self) -> None:
        self._producer.flush(3)


def news_end(cluster: Cluster, pipeline: str) -> int:
    """Where the status topic ends now."""
    place = (naming.status_topic(pipeline), 0)
    return cluster.latest([place])[place]


class StatusReader:
    """All news of a pipeline from now on; of one life, if it is named."""

    def __init__(self, clients: Clients, pipeline: str, uid: str | None, since: int) -> None:
        self._uid = uid
        self._consumer = clients.consumer(**{"auto.offset.reset": "earliest"})
        self._consumer.assign([TopicPartition(naming.status_topic(pipeline), 0, since)])

    def read(self, timeout: float) -> Iterator[Status]:
        for message in self._consumer.consume(500, timeout):
            if message.error() is None:
                status = status_of(message.value())
                if self._uid in (None, status.uid):
                    yield status

    def close(self) -> None:
        self._consumer.close()
