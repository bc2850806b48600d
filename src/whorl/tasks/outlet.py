"""Where a task's records leave: inside the transaction or, at least once, at once by a second producer that is flushed before each commit.

Positions always go through the transaction, so under either guarantee they are exact; only outputs can double, and only at least once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

from confluent_kafka import KafkaError

from whorl.config.settings import Settings
from whorl.kafka.clients import Clients
from whorl.kafka.transactions import Aborted, Transactions, hand_over
from whorl.sinks.kafka import Entry

_BATCH = 1_000_000
_LINGER_MS = 2
"""The most that a record waits for others inside a transaction: where commits are less than 20 ms apart, less than that; a tenth of the interval."""
_GATHER_MS = 1
"""At least once, records that come together leave together, in fewer and larger requests, of which a broker can take more."""
_ALONE_S = 0.002
"""What comes so long after the last has nothing to wait for."""


class Outlet:
    def __init__(
        self,
        clients: Clients,
        transactional_id: str,
        settings: Settings,
        smallest: int = _BATCH,
        waiting: Callable[[str], None] = lambda what: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`smallest` is the least that any topic written takes at once: a batch that is too large is refused as a whole, again and again.
        `waiting` is told what it waits for, and nothing when that is over."""
        timeout = int(settings.transaction_timeout * 1000)
        batch = max(min(smallest, _BATCH), 1)
        sizes = {"queue.buffering.max.messages": 500_000, "batch.size": batch}
        # Right after a commit the coordinator asks for a moment of patience, of which librdkafka makes a tenth of a second.
        linger = min(int(settings.commit_interval * 100), _LINGER_MS)
        batches = {"batch.num.messages": 10_000, "linger.ms": linger, "retry.backoff.ms": 2}
        producer = clients.transactional(transactional_id, **{"transaction.timeout.ms": timeout, **sizes, **batches})
        self.transactions = Transactions(producer, waiting)
        self._failed: KafkaError | None = None
        at_once = settings.guarantee == "at_least_once"
        plain = {"on_delivery": self._delivered, "linger.ms": _GATHER_MS, **sizes}
        self._plain = clients.producer(**plain) if at_once else None
        self._producer = self._plain or producer
        self._clock, self._produced_at = clock, float("-inf")

    def produce(self, entries: Collection[Entry]) -> None:
        hand_over(self._producer, entries, self.poll)
        if self._plain is not None and entries:
            former, self._produced_at = self._produced_at, self._clock()
            if self._produced_at - former > _ALONE_S:
                self._plain.flush(_GATHER_MS / 1000)  # while this waits, the client does not

    def produce_inside(self, entries: Iterable[Entry]) -> None:
        """In the transaction, whatever the guarantee: what leads back into state must not double."""
        for entry in entries:
            self.transactions.produce(*entry)

    def poll(self, timeout: float = 0) -> None:
        self.transactions.poll(0 if self._plain else timeout)
        if self._plain:
            self._plain.poll(timeout)

    def flush(self) -> None:
        """Returns when every output is at the broker; raises Aborted if one could not be delivered."""
        if self._plain is None:
            return
        while self._plain.flush(1.0):
            pass
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise Aborted(failed.str())

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._failed = error

    def close(self) -> None:
        """Aborts what is open, so that nothing blocks readers."""
        self.transactions.abort()
