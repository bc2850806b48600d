"""The register: one compacted topic that says which uid a pipeline's name has, who holds it, and which layout of each component is in force.

It is written only under the transactional id of the pipeline's driver, so a driver that was superseded cannot write it.
"""

from __future__ import annotations

import os
import platform
import time
import uuid
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from whorl.errors import Superseded, Unavailable, WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.reading import read_to_end
from whorl.kafka.transactions import Aborted, Transactions
from whorl.plan import naming
from whorl.plan.plan import Component, Plan
from whorl.tasks.assignment import Assignment
from whorl.tasks.layout import Layout

Also = Callable[[Transactions], None]
VERSION = 1
_ATTEMPTS = 5
LONGEST = 60.0
_LONGEST_WRITE = 90.0
"""After a minute Kafka aborts the transaction of a driver that died, and takes a while to notice."""


@dataclass(frozen=True)
class Holder:
    """A driver: where it runs and since when."""

    id: str
    host: str
    pid: int
    born: str
    since: float
    job: str = ""
    """Of a job server, if it was started by one; and the how manieth start of that job this is."""
    attempt: int = 0

    @classmethod
    def this(cls, job: str = "", attempt: int = 0) -> Holder:
        return cls(uuid.uuid4().hex[:12], platform.node(), os.getpid(), born(os.getpid()), time.time(), job, attempt)

    def is_gone(self) -> bool:
        """True only where this machine can tell for certain that the process has ended."""
        return self.host == platform.node() and bool(born(os.getpid())) and born(self.pid) != self.born

    def is_later_than(self, other: Holder) -> bool:
        return bool(self.job) and self.job == other.job and self.attempt > other.attempt

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since))
        of = f" as job {self.job}" if self.job else ""
        return f"process {self.pid} on {self.host} since {since}{of}"


def born(pid: int) -> str:
    """What tells a process from a later one with its number; empty where the system does not say or it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


@dataclass(frozen=True)
class ComponentEntry:
    layout: Layout
    open: tuple[tuple[int, int], ...] = ()
    """(number, tasks) of layouts whose transactional ids may still be alive."""
    topics: tuple[str, ...] = ()
    """What it reads."""
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Its operators with state, and the columns by which they keep it (none: the key of records)."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """Of what these keep, where it is not the first: the highest that has run."""
    edges: tuple[str, ...] = ()
    """Those of its topics that other components of the pipeline write."""
    group: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    """Of its operators with state."""
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of these: the names of what they keep."""
    sources: tuple[str, ...] = ()
    """Those of its topics that others write for it, and that are no tables."""

    @property
    def outside(self) -> tuple[str, ...]:
        """As `sources`; earlier versions of Whorl have not registered them."""
        return self.sources or tuple(topic for topic in self.topics if topic not in self.edges)


@dataclass(frozen=True)
class QueryEntry:
    """A component whose positions and state are in Spark's checkpoint."""

    edges: tuple[str, ...] = ()
    group: str = ""
    keyed: tuple[str, ...] = ()
    """Its operators with state by key."""
    fingerprint: str = ""
    """Of its definition."""

    @classmethod
    def of(cls, plan: Plan, component: Component, fingerprint: str) -> QueryEntry:
        return cls(plan.edges_into(component), component.group, component.keyed, fingerprint)


@dataclass(frozen=True)
class Registration:
    pipeline: str
    uid: str
    holder: Holder | None
    components: Mapping[str, ComponentEntry] = field(default_factory=dict)
    queries: Mapping[str, QueryEntry] = field(default_factory=dict)
    tasks: int = 0
    """Of each component, as `whorl rescale` was told; 0: as the settings say."""
    file: str = ""
    """The pipeline file of the last start, and a hash of what it said."""
    fingerprint: str = ""

    @classmethod
    def new(cls, pipeline: str) -> Registration:
        return cls(pipeline, uuid.uuid4().hex[:12], None)

    def with_layout(self, component: str, wanted: ComponentEntry) -> Registration:
        """A component as it is wanted, under its next number; earlier layouts stay open until they are fenced."""
        old = self.components.get(component)
        number = old.layout.number + 1 if old else 1
        still_open = (*old.open, (old.layout.number, old.layout.tasks)) if old else ()
        entry = replace(wanted, layout=replace(wanted.layout, number=number), open=still_open)
        return replace(self, components={**self.components, component: entry})

    def laid_out_again(self) -> Registration:
        """The next layout of every component, as it was."""
        registration = self
        for id, entry in self.components.items():
            registration = registration.with_layout(id, entry)
        return registration

    def fenced(self) -> Registration:
        return replace(self, components={id: replace(entry, open=()) for id, entry in self.components.items()})

    def encode(self) -> bytes:
        return orjson.dumps({"version": VERSION, **asdict(self)})

    @classmethod
    def decode(cls, value: bytes) -> Registration:
        fields: dict[str, Any] = orjson.loads(value)
        holder = fields["holder"]
        components = {id: component_entry(entry) for id, entry in fields["components"].items()}
        queries = {id: query_entry(entry) for id, entry in fields.get("queries", {}).items()}
        last = {name: fields[name] for name in ("tasks", "file", "fingerprint") if name in fields}
        return cls(fields["pipeline"], fields["uid"], Holder(**holder) if holder else None, components, queries, **last)


def component_entry(fields: Mapping[str, Any]) -> ComponentEntry:
    still_open = tuple((number, tasks) for number, tasks in fields["open"])
    kept = {operator: tuple(key) for operator, key in fields.get("kept", {}).items()}
    layout, topics, edges = Layout(**fields["layout"]), tuple(fields["topics"]), tuple(fields.get("edges", ()))
    versions, types = fields.get("versions", {}), fields.get("types", {})
    states = {operator: tuple(names) for operator, names in fields.get("states", {}).items()}
    return ComponentEntry(
        layout,
        still_open,
        topics,
        kept,
        versions,
        edges,
        fields.get("group", ""),
        types=types,
        states=states,
        sources=tuple(fields.get("sources", ())),
    )


def query_entry(fields: Mapping[str, Any]) -> QueryEntry:
    keyed, fingerprint = tuple(fields.get("keyed", ())), fields.get("fingerprint", "")
    return QueryEntry(tuple(fields["edges"]), fields["group"], keyed, fingerprint)


def read_registration(clients: Clients, pipeline: str) -> Registration | None:
    """What the register says of a pipeline now. All pipelines share it: one whose driver died while it wrote must not hide the others."""
    key, found = pipeline.encode(), None
    for message in read_to_end(clients, [(naming.REGISTER, 0)], timeout=_LONGEST_WRITE, past_open=True):
        if message.key() == key:
            found = message.value()
    return Registration.decode(found) if found else None


def registrations(clients: Clients) -> dict[str, Registration]:
    """Of all pipelines, by name."""
    last: dict[str, bytes | None] = {}
    for message in read_to_end(clients, [(naming.REGISTER, 0)], timeout=_LONGEST_WRITE, past_open=True):
        last[message.key().decode()] = message.value()
    return {name: Registration.decode(value) for name, value in last.items() if value}


def owner_of(clients: Clients, topics: Container[str], group: str) -> str:
    """The pipeline that has this consumer group; none: empty. `topics`: all that there are."""
    for known in registrations(clients).values() if naming.REGISTER in topics else ():
        if group in (*(e.group for e in known.components.values()), *(e.group for e in known.queries.values())):
            return known.pipeline
    return ""


def refuse_outdated(clients: Clients, assignment: Assignment) -> None:
    """Raises where another life of the pipeline, or another layout, is in force."""
    registered = read_registration(clients, assignment.pipeline)
    if registered is None or registered.uid != assignment.uid:
        raise Superseded(f"pipeline '{assignment.pipeline}' was registered anew; this task belongs to an older run")
    in_force = registered.components[assignment.component.id].layout.number
    if in_force != assignment.layout.number:
        raise Superseded(f"layout {in_force} is in force, this task belongs to layout {assignment.layout.number}")


def registration_of(clients: Clients, topics: Container[str], pipeline: str) -> Registration:
    """As `read_registration`, of a pipeline that must have run. `topics`: all that there are."""
    found = read_registration(clients, pipeline) if naming.REGISTER in topics else None
    if found is None:
        hint = "it is registered at its first start; give its name or its file, and the broker that it runs on"
        raise WorldError(f"no pipeline '{pipeline}' has run on this broker", hint=hint, code="state-pipeline")
    return found


class Register:
    """The driver's pen. Opening it fences whoever had it before."""

    def __init__(self, clients: Clients, pipeline: str, longest: float = LONGEST) -> None:
        """`longest`: seconds that a transaction may take."""
        self._clients = clients
        self._pipeline = pipeline
        config = {"transaction.timeout.ms": round(longest * 1000)}
        self.transactions = Transactions(clients.transactional(naming.driver_id(pipeline), **config))
        self.transactions.init()

    def read(self) -> Registration | None:
        return read_registration(self._clients, self._pipeline)

    def write(self, registration: Registration, also: Also = lambda transactions: None) -> None:
        """In one transaction with what `also` writes. One that Kafka aborts is done again."""
        self._commit(registration.encode(), also)

    def forget(self) -> None:
        self._commit(None, lambda transactions: None)

    def _commit(self, value: bytes | None, also: Also) -> None:
        reason = ""
        for _ in range(_ATTEMPTS):
            try:
                self.transactions.begin()
                also(self.transactions)
                self.transactions.produce(naming.REGISTER, value, self._pipeline.encode(), 0)
                self.transactions.commit()
                return
            except Aborted as aborted:
                reason = str(aborted)
                self.transactions.abort()
            except Exception:
                with suppress(Exception):  # the reason is the one above
                    self.transactions.abort()
                raise
        raise Unavailable(f"the register cannot be written: {reason}", hint="the broker's log says why")
