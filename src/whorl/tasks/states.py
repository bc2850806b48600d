"""The state of a task's logical partitions (lps): read from the changelog, written to it with every commit, kept nearby as a shortcut.

3 restore   the nearby copy, if it fits, and what the changelog has beyond it
5 write     what changed, and behind it the lp's own record, into the transaction
6 store     only when Kafka has committed: into the nearby copy, with the position behind the lp's own record
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from itertools import groupby
from operator import methodcaller
from typing import Any

from confluent_kafka import TopicPartition

from whorl.kafka.clients import Clients
from whorl.kafka.reading import read_bulks_on
from whorl.kafka.transactions import Transactions
from whorl.state.backend import Backend, MemoryBackend, Size
from whorl.state.behind import ENTRY_OVERHEAD, Backlog, WriteBehind
from whorl.state.partition import LP_KEY, LpState
from whorl.state.room import Room
from whorl.state.times import UNKNOWN
from whorl.tasks.assignment import Assignment
from whorl.tasks.changelog import decode_lp, encode_lp
from whorl.tasks.copies import Copies, meta_of
from whorl.tasks.layout import Place
from whorl.tasks.publishing import Publishing
from whorl.tasks.readings import Reading
from whorl.tasks.sizes import Changes

_CHUNK, _LEAST = 400_000, 10_000
"""Entries of the changelog that wait in memory to be written at once: of all lps of a task, and of each at least. They take no more than
what values will, when all is read."""
_PARTITION = methodcaller("partition")
_ASK_EVERY = 10.0
_SWEEP_EVERY, _SWEPT = 1.0, 5_000
"""Seconds, and the entries that are looked at each time: some milliseconds."""


class States:
    def __init__(
        self,
        assignment: Assignment,
        task: int,
        clients: Clients,
        wall: Callable[[], float],
        publishing: Publishing,
        careful: bool = False,
    ) -> None:
        """`careful`: what a record writes is measured before it is kept, so that it is the record that fails where it is too large. Else
        that is found at the commit, and raises `Oversized`."""
        self._assignment, self._clients, self._wall = assignment, clients, wall
        self._publishing = publishing
        self._lps = assignment.layout.lps_of(task)
        self._changes, self._careful = Changes(assignment.changelog, assignment.limits[assignment.changelog]), careful
        self._room, self._backlog = Room(assignment.settings.state.memory), Backlog()
        self._of: dict[int, LpState] = {}
        self._written: dict[int, bytes] = {}
        """By lp: its own record of this transaction."""
        self._asked_at: dict[int, float] = {}
        self._swept_at = 0.0
        self._ends: dict[int, int] = {}
        """Of the changelog, when the restore began."""
        self._copies = Copies(assignment, lambda lp: self._ends[lp], self._now)

    def __getitem__(self, lp: int) -> LpState:
        return self._of[lp]

    def __iter__(self) -> Iterator[LpState]:
        return iter(self._of.values())

    @property
    def waiting_for_time(self) -> int:
        """Logical partitions in which a timer is set that goes off by the clock."""
        return sum(state.timers.next("processing") is not None for state in self)

    @property
    def size(self) -> Size:
        sizes = [state.size() for state in self]
        return Size(sum(each.entries for each in sizes), sum(each.bytes for each in sizes))

    @property
    def watermark(self) -> int | None:
        """Of the logical partition that is furthest behind; those where nothing has come yet have none."""
        known = [state.clocks.watermark for state in self if state.clocks.watermark != UNKNOWN]
        return min(known, default=None)

    # -- 3 restore --------------------------------------------------------------------------------------------------------------------

    def restore(self, begin: Callable[[Mapping[int, int]], Reading]) -> dict[Place, int]:
        """The positions to go on from. `begin` is told where reading the changelog starts."""
        if self._assignment.settings.state.backend == "disk":
            self._copies.tidy()
        self._ends = {lp: self._end(lp) for lp in self._lps}
        for lp in self._lps:
            self._of[lp] = self._open(lp)
        self._read_on(begin({lp: state.position for lp, state in self._of.items()}))
        positions: dict[Place, int] = {}
        for state in self._of.values():
            if state.record is not None:
                places, times = decode_lp(state.record)
                positions |= places
                if times:
                    state.set_times(times)
        return positions

    def _open(self, lp: int) -> LpState:
        assignment = self._assignment
        timed = [input.id for input in assignment.component.inputs if input.watermark]
        backend, lps = self._backend(lp), assignment.layout.lps
        state = LpState(backend, meta_of(assignment), timed, self._room, self._now, lps, lp)
        state.check = partial(self._changes.measure, state) if self._careful else None
        return state

    def _backend(self, lp: int) -> Backend:
        if self._assignment.settings.state.backend == "memory":
            return MemoryBackend()
        return WriteBehind(self._copies.take(lp), self._backlog)

    def _read_on(self, reading: Reading) -> None:
        """Entries wait until there are many of an lp: the more are written at once, the fewer pages are written twice."""
        topic, most = self._assignment.changelog, max(_CHUNK // (len(self._of) or 1), _LEAST)
        waiting: dict[int, dict[bytes, bytes | None]] = {lp: {} for lp in self._of}
        ends, size = {lp: state.position for lp, state in self._of.items()}, 0
        reading.move(ends, self._left(ends))
        for bulk in read_bulks_on(self._clients, {(topic, lp): position for lp, position in ends.items()}):
            for lp, some in groupby(bulk, _PARTITION):
                messages = list(some)
                waiting[lp].update({message.key(): message.value() for message in messages})
                ends[lp] = messages[-1].offset() + 1
            reading.records += len(bulk)
            reading.move(ends, self._left(ends))
            size += sum(map(len, bulk)) + ENTRY_OVERHEAD * len(bulk)
            full = size > self._room.limit
            for lp in [lp for lp, entries in waiting.items() if entries and (full or len(entries) >= most)]:
                self._of[lp].absorb(waiting[lp], ends[lp])
                waiting[lp] = {}
            size = 0 if full else size
        for lp, entries in waiting.items():
            self._of[lp].absorb(entries, ends[lp], current=True)
        reading.end(ends)

    def _left(self, positions: Mapping[int, int]) -> int:
        return sum(max(0, self._ends[lp] - position) for lp, position in positions.items())

    # -- 5 and 6 ----------------------------------------------------------------------------------------------------------------------

    def changed(self) -> set[int]:
        return {lp for lp, state in self._of.items() if state.changed}

    def write(self, lp: int, positions: Mapping[Place, int], transactions: Transactions) -> None:
        state, topic = self._of[lp], self._assignment.changelog
        delta = state.delta()
        self._changes.check(delta)
        transactions.produce_all([(topic, value, key, lp) for key, value in delta.items()])
        transactions.produce_all(self._publishing.records(state))
        self._written[lp] = encode_lp(positions, state.times())
        transactions.produce(topic, self._written[lp], LP_KEY, lp)

    def sweep(self) -> None:
        """Removes some of what has expired, so that it goes from the changelog too; now and then."""
        if self._is_since(self._swept_at, _SWEEP_EVERY):
            return
        self._swept_at = self._wall()
        for state in self._of.values():
            state.sweep(_SWEPT)

    def store(self) -> None:
        for lp, record in self._written.items():
            self._of[lp].store(self._position(lp), record)
        self._written.clear()

    def _position(self, lp: int) -> int:
        """Where the changelog ends, as it was asked some time ago: what lies between is in the copy already, and reading it again changes
        nothing. To ask at each commit would cost more than it spares at the next start."""
        if self._is_since(self._asked_at.get(lp, 0.0), _ASK_EVERY):
            return self._of[lp].position
        self._asked_at[lp] = self._wall()
        return self._end(lp)

    def _end(self, lp: int) -> int:
        _, end = self._asking.get_watermark_offsets(TopicPartition(self._assignment.changelog, lp), timeout=30)
        return int(end)

    def close(self) -> None:
        """All of them, also where one cannot write what waits: a folder that is not let go of is lost to whoever comes next."""
        with ExitStack() as closing:
            for state in self._of.values():
                closing.callback(state.close)
            if "_asking" in vars(self):
                closing.callback(self._asking.close)
            self._of.clear()

    @cached_property
    def _asking(self) -> Any:
        return self._clients.consumer()

    def _is_since(self, moment: float, seconds: float) -> bool:
        """Whether the moment is less than so many seconds ago. One that lies ahead is not: the clock was set back."""
        return 0 <= self._wall() - moment < seconds

    def _now(self) -> int:
        return round(self._wall() * 1000)
