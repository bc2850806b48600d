"""A process's right to write for one run of a component: a transactional id that no other process has.

Tasks move between Python workers from batch to batch, and a new producer costs up to half a second; so the id belongs to the process,
not to the partition it writes, and stays with it.

    4 sit down   init the id, note the seat in the ledger, and only then read the run: a driver that took over since then either sees
                 the seat, and fences it, or is seen here
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from confluent_kafka import KafkaException

from whorl.config.settings import Settings
from whorl.errors import Superseded
from whorl.kafka.clients import Clients
from whorl.kafka.transactions import Transactions, translate
from whorl.plan import naming
from whorl.query.ledger import SEATS, WRITTEN, Ledger, Written

_LONGEST_WRITE = 300.0
"""Seconds, at least: a batch is larger than what a task commits at a time."""


def batch_timeout(settings: Settings) -> float:
    """How long the transaction of a batch may take."""
    return max(settings.transaction_timeout, _LONGEST_WRITE)


@dataclass(frozen=True)
class SeatOrder:
    """Whose ledger, and in which run."""

    ledger: str
    uid: str
    component: str
    run: int
    timeout: float
    """Seconds after which Kafka gives up a transaction left open."""


class Seat:
    def __init__(self, clients: Clients, order: SeatOrder, name: str) -> None:
        self._order = order
        producer = clients.transactional(
            naming.seat_id(order.uid, order.component, name),
            **{
                "transaction.timeout.ms": int(order.timeout * 1000),
                "queue.buffering.max.messages": 500_000,
                "batch.num.messages": 10_000,
                "linger.ms": 5,
            },
        )
        self.transactions = Transactions(producer)
        self._sit_down(clients, name)

    def _sit_down(self, clients: Clients, name: str) -> None:
        """4."""
        order, transactions = self._order, self.transactions
        transactions.init()
        transactions.begin()
        transactions.produce(order.ledger, b"%d" % order.run, name.encode(), SEATS)
        transactions.commit()
        run = Ledger(clients, order.ledger, order.uid, order.component).last_run()
        if run != order.run:
            raise Superseded(f"another driver runs '{order.component}' now", hint="this one ends; it wrote nothing")

    def produce(self, rows: Any) -> None:
        """`rows`: the arguments of `Producer.produce`, in order."""
        produce = self.transactions.producer.produce
        for row in rows:
            while True:
                try:
                    produce(*row)
                    break
                except BufferError:
                    self.transactions.poll(0.1)
                except KafkaException as error:
                    raise translate(error) from None
        self.transactions.poll(0)

    def commit(self, writer: str, written: Written) -> None:
        """Rows and the ledger's record of them: all or nothing."""
        self.transactions.produce(self._order.ledger, written.encode(), writer.encode(), WRITTEN)
        self.transactions.commit()


class Seats:
    """Those of this process: one for each component, in its present run."""

    def __init__(self, name: Callable[[str], str]) -> None:
        self._name = name
        self._taken: dict[tuple[str, str], tuple[int, Seat]] = {}

    def seat(self, clients: Clients, order: SeatOrder) -> Seat:
        key = (order.uid, order.component)
        run, seat = self._taken.get(key, (0, None))
        if seat is None or run != order.run:
            seat = Seat(clients, order, self._name(order.uid))
            self._taken[key] = (order.run, seat)
        return seat

    def leave(self, order: SeatOrder) -> None:
        """After an error: whatever state the producer is in, nobody uses it again."""
        self._taken.pop((order.uid, order.component), None)


class Chairs:
    """Names of seats for the processes of this machine. A name is a file, held by a lock for as long as its process lives, so that there
    are never more names than processes at a time."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, str, IO[str]]] = {}

    def name(self, uid: str) -> str:
        held = self._held.get(uid)
        if held is None or held[0] != os.getpid():  # a lock does not survive a fork in a meaningful way
            held = (os.getpid(), *_free_chair(Path(tempfile.gettempdir()) / f"whorl-{os.getuid()}-{uid}"))
            self._held[uid] = held
        return held[1]


def _free_chair(folder: Path) -> tuple[str, IO[str]]:
    folder.mkdir(mode=0o700, exist_ok=True)
    number = 0
    while True:
        file = (folder / str(number)).open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            number += 1
            continue
        file.seek(0)
        name = file.read().strip()
        if not name:
            name = uuid.uuid4().hex[:12]
            file.write(name)
            file.flush()
        return name, file
