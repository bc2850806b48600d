"""A standby: it follows the changelog of a task's logical partitions (lps) into copies of its own, on its own machine.

So a task that is started here, or has lost its copy, finds one that lacks little. It writes nothing but its copies, and whatever goes
wrong with it is its own matter: it says so, waits, and begins anew; the component takes no notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.errors import Superseded
from whorl.kafka.clients import Clients
from whorl.state.disk import LmdbBackend
from whorl.state.partition import LpState
from whorl.tasks.assignment import Assignment
from whorl.tasks.copies import Copies, is_asked_for, meta_of, note
from whorl.tasks.register import refuse_outdated
from whorl.tasks.signals import Figures, Orders

_BULK, _WAIT = 10_000, 0.2
_STORE_EVERY = 1.0
_CURRENT_EVERY = 60.0
"""Seconds after which a copy that had nothing to read says that it is up to date, so that it does not grow old."""
_REST = 5.0
_NAP = 0.1


class Followed:
    """The copy of one lp, and what was read for it and is not stored yet."""

    def __init__(self, copy: LmdbBackend, assignment: Assignment, now: Callable[[], int]) -> None:
        self.copy = copy
        self._state = LpState(copy, meta_of(assignment), wall=now)
        self._waiting: list[tuple[bytes, bytes | None]] = []
        self.position = self._state.position
        self._at_end = False

    def read(self, message: Any) -> None:
        self._waiting.append((message.key(), message.value()))
        self.position, self._at_end = message.offset() + 1, False

    def reached(self, end: int) -> None:
        self.position, self._at_end = max(self.position, end), True

    def store(self, even_nothing: bool = False) -> None:
        if self._waiting or even_nothing:
            self._state.absorb(self._waiting, self.position, current=self._at_end)
            self._waiting = []
            note(self.copy)

    def close(self) -> None:
        try:
            self.store()
        finally:
            self._state.close()


class Standby:
    def __init__(
        self,
        assignment: Assignment,
        number: int,
        clients: Clients,
        orders: Orders,
        figures: Figures,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._assignment, self._clients = assignment, clients
        self._lps = assignment.followed_by(number)
        self._orders, self._figures = orders, figures
        self._clock, self._wall = clock, wall

    def run(self) -> None:
        """Until told to stop, or until another layout is in force."""
        with suppress(Superseded):
            while not self._orders.stopping:
                try:
                    self._follow()
                except Superseded:
                    raise
                except Exception as error:
                    self._rest(f"{type(error).__name__}: {error}")

    def _rest(self, trouble: str) -> None:
        self._figures.step, self._figures.trouble = "resting", trouble
        self._figures.restarts += 1
        until = time.monotonic() + _REST
        while not self._orders.stopping and time.monotonic() < until:
            time.sleep(_NAP)

    def _follow(self) -> None:
        """Until told to stop, or asked for one of the copies: then all are let go of, and taken anew."""
        self._figures.step = "joining"
        refuse_outdated(self._clients, self._assignment)
        with ExitStack() as opened:
            consumer = opened.enter_context(closing(self._clients.consumer(**{"auto.offset.reset": "earliest"})))
            copies = Copies(self._assignment, lambda lp: self._ends(consumer, lp)[1], self._now)
            followed = {
                lp: opened.enter_context(closing(Followed(copies.take_second(lp), self._assignment, self._now)))
                for lp in self._lps
            }
            starts = [TopicPartition(self._assignment.changelog, lp, one.position) for lp, one in followed.items()]
            consumer.assign(starts)
            self._figures.step, self._figures.trouble = "following", ""
            self._read(consumer, followed)

    def _read(self, consumer: Any, followed: dict[int, Followed]) -> None:
        store_at = self._clock() + _STORE_EVERY
        current_at = self._clock() + _CURRENT_EVERY
        while not self._orders.stopping and not any(is_asked_for(one.copy) for one in followed.values()):
            for message in consumer.consume(_BULK, _WAIT):
                self._take(message, followed[message.partition()])
            if self._clock() < store_at:
                continue
            store_at = self._clock() + _STORE_EVERY
            is_due = self._clock() >= current_at
            current_at = self._clock() + _CURRENT_EVERY if is_due else current_at
            for one in followed.values():
                one.store(even_nothing=is_due)
            highs = {lp: self._ends(consumer, lp, cached=True)[1] for lp in followed}
            self._figures.lag = sum(max(0, highs[lp] - one.position) for lp, one in followed.items())

    def _take(self, message: Any, one: Followed) -> None:
        error = message.error()
        if error is None:
            one.read(message)
            self._figures.read += 1
        elif error.code() == KafkaError._PARTITION_EOF:
            one.reached(message.offset())
        elif not error.retriable():
            raise KafkaException(error)

    def _ends(self, consumer: Any, lp: int, **how: Any) -> tuple[int, int]:
        place = TopicPartition(self._assignment.changelog, lp)
        first, end = consumer.get_watermark_offsets(place, **(how or {"timeout": 30}))
        return int(first), int(end)

    def _now(self) -> int:
        return round(self._wall() * 1000)
