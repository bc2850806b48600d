"""The driver's half of the protocol, without Spark: who holds the pipeline, which layout is in force, where reading begins.

1 start     take the register, write the next layout, and only then fence every task id of earlier layouts; positions are final now,
            so places without one get theirs, in the transaction that notes the fencing
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import TopicPartition

from whorl.config.settings import Settings
from whorl.errors import Superseded
from whorl.kafka.clients import Clients
from whorl.kafka.transactions import Transactions
from whorl.plan import naming
from whorl.state.partition import LP_KEY
from whorl.tasks.assignment import GENERATED
from whorl.tasks.changelog import by_lp, decode_lp, encode_lp, positions_in, read_lps
from whorl.tasks.control import ANSWER, DRIVER, Address, Status, StatusReader
from whorl.tasks.layout import Layout, Place
from whorl.tasks.register import LONGEST, Also, ComponentEntry, Holder, Register, Registration

FirstPositions = Callable[[Mapping[Place, int]], Mapping[Place, int]]
"""From the positions a component has to those it must get: of places without one, or whose records are gone."""
BEATS_OF_A_LIVING_HOLDER = 3.5


@dataclass(frozen=True)
class Wanted:
    """What a component needs of the register."""

    component: str
    group: str
    tasks: int
    lps: int
    places: tuple[Place, ...]
    first: FirstPositions
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Operators with state, and by which columns."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """Of what they keep, where it is not the first."""
    edges: tuple[str, ...] = ()
    """Topics that other components of the pipeline write."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Of operators with state."""
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of what they keep."""
    sources: tuple[str, ...] = ()
    """Topics that others write for it, and that are no tables."""

    @property
    def entry(self) -> ComponentEntry:
        """As the register has it; the layout is what that says next."""
        topics = tuple(sorted({topic for topic, _ in self.places}))
        layout, kept = Layout(0, self.tasks, self.lps), (self.kept, self.versions)
        named = (self.types, self.states)
        return ComponentEntry(layout, (), topics, *kept, self.edges, self.group, *named, self.sources)


def living_holder(clients: Clients, registration: Registration | None, heartbeat: float, end: int) -> Holder | None:
    """Who holds the pipeline, if his heartbeat comes. `end`: of the status topic, now."""
    holder = registration.holder if registration else None
    if registration is None or holder is None or holder.is_gone():
        return None
    reader = StatusReader(clients, registration.pipeline, None, end)
    until = time.monotonic() + heartbeat * BEATS_OF_A_LIVING_HOLDER
    try:
        while time.monotonic() < until:
            if any(status.component == DRIVER and status.error == holder.id for status in reader.read(0.2)):
                return holder
    finally:
        reader.close()
    return None


def refuse_second(
    clients: Clients, registration: Registration | None, settings: Settings, end: int, me: Holder | None = None
) -> None:
    """Raises where the pipeline's holder is alive. `me`: who wants it; a later start of the same job takes it from an earlier one."""
    if me and registration and registration.holder and me.is_later_than(registration.holder):
        return
    holder = living_holder(clients, registration, settings.heartbeat, end)
    if registration is not None and holder is not None:
        hint = "stop that one first, or give this pipeline another 'name'"
        raise Superseded(
            f"pipeline '{registration.pipeline}' runs already: {holder}", hint=hint, code="already-running"
        )


class Driver:
    """Holds the pipeline from `start` to `release`."""

    def __init__(self, clients: Clients, pipeline: str, longest: float = LONGEST, holder: Holder | None = None) -> None:
        """`longest`: seconds that a transaction of its may take."""
        self._clients = clients
        self.holder = holder or Holder.this()
        self._register = Register(clients, pipeline, longest)
        self.registration = replace(self._register.read() or Registration.new(pipeline), holder=self.holder)

    def start_over(self) -> None:
        """A new uid: positions and internal topics of the old one are left behind."""
        self.fence()
        self.registration = replace(Registration.new(self.registration.pipeline), holder=self.holder)

    def fence(self) -> None:
        """No task can write any more, so that what the changelogs hold is final. As ever tasks are fenced only once the register holds a
        higher layout, so that one that comes back late sees that its time is over."""
        if self.registration.components:
            self.registration = self.registration.laid_out_again()
            self._register.write(self.registration)
            self._fence(self.registration)
            self.registration = self.registration.fenced()

    def note(self, **known: Any) -> None:
        """What else the register is to know of the pipeline; it is written with the next layout."""
        self.registration = replace(self.registration, **known)

    def adopt(self, registration: Registration, also: Also) -> None:
        """Goes on as another life of the pipeline, from what `also` writes in the same transaction."""
        registration = replace(registration, holder=self.holder)
        self._register.write(registration, also)
        self.registration = registration

    def lay_out(self, wanted: list[Wanted]) -> dict[str, Layout]:
        """1. The next layout of these components, in force and alone when this returns."""
        registration = self.registration
        for want in wanted:
            registration = registration.with_layout(want.component, want.entry)
        self._register.write(registration)
        self._fence(registration)
        self.registration = registration.fenced()
        self._seed(wanted)
        return {want.component: self.registration.components[want.component].layout for want in wanted}

    def release(self) -> None:
        self.registration = replace(self.registration, holder=None)
        self._register.write(self.registration)

    def heartbeat(self) -> Status:
        uid, holder = self.registration.uid, self.holder
        return Status(uid, DRIVER, 0, 0, 0, holder.host, holder.pid, "driver", time.time(), {}, error=holder.id)

    def answer(self, order: str, figures: Mapping[str, Any], error: str = "") -> Status:
        """What became of an order."""
        told, holder = {**figures, "order": order}, self.holder
        uid = self.registration.uid
        return Status(uid, ANSWER, 0, 0, 0, holder.host, holder.pid, "driver", time.time(), told, error=error)

    @property
    def address(self) -> Address:
        return address_of(self.registration.pipeline, self.holder)

    def _fence(self, registration: Registration) -> None:
        layouts = [
            (component, number, tasks)
            for component, entry in registration.components.items()
            for number, tasks in entry.open
        ]
        ids = [
            naming.task_id(registration.uid, c, number, task) for c, number, tasks in layouts for task in range(tasks)
        ]
        if ids:
            with ThreadPoolExecutor(min(len(ids), 16)) as pool:
                list(pool.map(self._fence_one, ids))

    def _fence_one(self, transactional_id: str) -> None:
        Transactions(self._clients.transactional(transactional_id)).init()

    def move(self, to: Mapping[str, Mapping[Place, int]], groups: Mapping[str, Mapping[Place, int]]) -> None:
        """Other positions for these components, which are at rest, their groups' offsets, and those of other groups: in one transaction."""
        self.fence()
        stored = {id: self._stored(id) for id in to}

        def write(transactions: Transactions) -> None:
            for id, new in to.items():
                self._seed_component(id, stored[id], new, transactions)
            for group, offsets in groups.items():
                mirror(self._clients, group, offsets, transactions)

        self._register.write(self.registration, write)

    def _seed(self, wanted: list[Wanted]) -> None:
        # Read before the transaction: a long changelog must not outlast it.
        stored = [self._stored(want.component) for want in wanted]
        seeds = [(want, had, want.first(positions_in(had))) for want, had in zip(wanted, stored, strict=True)]

        def seed(transactions: Transactions) -> None:
            for want, had, new in seeds:
                if new:
                    self._seed_component(want.component, had, new, transactions)

        self._register.write(self.registration, seed)

    def _stored(self, component: str) -> dict[int, bytes]:
        lps = self.registration.components[component].layout.lps
        return read_lps(self._clients, self._changelog(component), range(lps))

    def _changelog(self, component: str) -> str:
        return naming.changelog_topic(self.registration.pipeline, self.registration.uid, component)

    def _seed_component(
        self, component: str, stored: Mapping[int, bytes], new: Mapping[Place, int], transactions: Transactions
    ) -> None:
        """What else an lp has in its record stays."""
        entry, topic = self.registration.components[component], self._changelog(component)
        for lp, positions in by_lp(entry.layout, new).items():
            had, times = decode_lp(stored[lp]) if lp in stored else ({}, {})
            transactions.produce(topic, encode_lp({**had, **positions}, times), LP_KEY, lp)
        mirror(self._clients, entry.group, new, transactions)


def address_of(pipeline: str, holder: Holder) -> Address:
    """Where a driver takes orders."""
    return Address(pipeline, holder.id, DRIVER, 0)


def mirror(clients: Clients, group: str, positions: Mapping[Place, int], transactions: Transactions) -> None:
    """As a consumer group's offsets, for tools."""
    offsets = [TopicPartition(*place, at) for place, at in positions.items() if not place[0].startswith(GENERATED)]
    if offsets:
        consumer = clients.consumer(**{"group.id": group})
        transactions.send_offsets(offsets, consumer.consumer_group_metadata())
        consumer.close()
