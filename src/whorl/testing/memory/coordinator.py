"""Transactions by transactional id: one owner at a time, and all of a transaction or nothing.

Initialising an id raises its epoch: the open transaction of the owner before is aborted, and whatever that owner sends
later is refused. A transaction that is open for longer than its timeout is aborted the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException

from whorl.testing.memory.log import PartitionLog

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Position:
    """A consumer group's offset, with the note that was committed beside it."""

    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who may write under a transactional id: its producer id at one epoch."""

    transactional_id: str
    producer_id: int
    epoch: int


@dataclass(slots=True)
class _Transaction:
    started: float
    logs: dict[Place, PartitionLog] = field(default_factory=dict)
    offsets: dict[str, dict[Place, Position]] = field(default_factory=dict)


@dataclass(slots=True)
class _Ledger:
    owner: Owner
    timeout: float
    open: _Transaction | None = None


class Coordinator:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ledgers: dict[str, _Ledger] = {}
        self._groups: dict[str, dict[Place, Position]] = {}

    def init(self, transactional_id: str, timeout: float) -> Owner:
        ledger = self._ledgers.get(transactional_id)
        if ledger is None:
            owner = Owner(transactional_id, producer_id=1000 + len(self._ledgers), epoch=0)
            self._ledgers[transactional_id] = _Ledger(owner, timeout)
            return owner
        self._fence(ledger)
        ledger.timeout = timeout
        return ledger.owner

    def join(self, owner: Owner, log: PartitionLog) -> None:
        """Make a partition part of the owner's transaction, and open one if there is none."""
        self._transaction(owner).logs[log.topic, log.partition] = log

    def add_offsets(self, owner: Owner, group: str, offsets: Mapping[Place, Position]) -> None:
        self._transaction(owner).offsets.setdefault(group, {}).update(offsets)

    def end(self, owner: Owner, commit: bool) -> None:
        ledger = self._current(owner)
        if ledger.open is None:
            raise KafkaException(KafkaError(KafkaError.INVALID_TXN_STATE))
        self._close(ledger, commit)

    def fence(self, owner: Owner) -> None:
        """Shut the owner out, unless another already has."""
        if self._ledgers[owner.transactional_id].owner == owner:
            self._fence(self._ledgers[owner.transactional_id])

    def commit_offsets(self, group: str, offsets: Mapping[Place, Position]) -> None:
        """Outside any transaction."""
        self._groups.setdefault(group, {}).update(offsets)

    def offsets(self, group: str) -> dict[Place, Position]:
        self.expire()
        return dict(self._groups.get(group, {}))

    def unstable(self, group: str, places: Iterable[Place]) -> bool:
        """Does an open transaction hold offsets of the group for one of these places?"""
        self.expire()
        wanted = set(places)
        return any(
            wanted & ledger.open.offsets.get(group, {}).keys() for ledger in self._ledgers.values() if ledger.open
        )

    def open_transactions(self) -> list[str]:
        """The transactional ids that have one."""
        self.expire()
        return [id for id, ledger in self._ledgers.items() if ledger.open]

    def expire(self) -> None:
        """Abort what has been open for too long, and fence whoever opened it."""
        for ledger in self._ledgers.values():
            if ledger.open and self._clock() - ledger.open.started >= ledger.timeout:
                self._fence(ledger)

    def _fence(self, ledger: _Ledger) -> None:
        if ledger.open:
            self._close(ledger, commit=False)
        owner = ledger.owner
        ledger.owner = Owner(owner.transactional_id, owner.producer_id, owner.epoch + 1)

    def _current(self, owner: Owner) -> _Ledger:
        self.expire()
        ledger = self._ledgers[owner.transactional_id]
        if ledger.owner != owner:
            raise KafkaException(KafkaError(KafkaError.INVALID_PRODUCER_EPOCH))
        return ledger

    def _transaction(self, owner: Owner) -> _Transaction:
        ledger = self._current(owner)
        if ledger.open is None:
            ledger.open = _Transaction(self._clock())
        return ledger.open

    def _close(self, ledger: _Ledger, commit: bool) -> None:
        done, ledger.open = ledger.open, None
        assert done is not None
        for log in done.logs.values():
            log.end_transaction(ledger.owner.producer_id, commit, round(self._clock() * 1000))
        if commit:
            for group, offsets in done.offsets.items():
                self.commit_offsets(group, offsets)
