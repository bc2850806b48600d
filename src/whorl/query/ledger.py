"""The driver's half of exactly once into Kafka: who may write, and what a batch that was under way has written already.

Spark decides what is in batch b, and repeats b with the same rows in the same partitions after a crash. Every Python worker process
that writes has a *seat*: a transactional id of its own. One partition of a batch is one transaction, and that transaction also holds the
ledger's record of it. Numbered as in docs/exactly-once.md, where the order is reasoned.

    1 take      init the driver's id, and only then read the last run: a driver that lost its place sees it here; write run + 1
    2 fence     init every seat that ever sat down, then read what they wrote: it is final now
    3 compare   the ledger with the checkpoint (`whorl.query.checkpoint`): one that is older, or gone, is refused

Steps 4 to 7, those of a task, are in `whorl.query.writer`. The ledger is a compacted topic of three partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import orjson

from whorl.errors import Superseded, Unavailable, WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import COMPACTED, TopicWanted
from whorl.kafka.transactions import Aborted, Transactions
from whorl.plan import naming

RUN, SEATS, WRITTEN = 0, 1, 2
PARTITIONS = 3
VERSION = 1
RUN_KEY = b"run"
_ATTEMPTS = 5


def wanted_ledger(topic: str) -> TopicWanted:
    return TopicWanted(topic, PARTITIONS, COMPACTED)


@dataclass(frozen=True)
class Written:
    """What one partition of a batch came to."""

    run: int
    seq: int
    count: int
    checksum: int

    def encode(self) -> bytes:
        return orjson.dumps({"version": VERSION, **asdict(self)})

    @classmethod
    def decode(cls, value: bytes) -> Written:
        fields = _decoded(value)
        return cls(**{name: fields[name] for name in ("run", "seq", "count", "checksum")})


@dataclass(frozen=True)
class Taken:
    """The ledger in this driver's hands."""

    run: int
    written: Mapping[str, Written]
    """By writer: the last it wrote."""

    @property
    def seqs(self) -> set[int]:
        """The batches of which it knows that something was written: the last one of each writer."""
        return {each.seq for each in self.written.values()}

    @property
    def records(self) -> tuple[tuple[str, str], ...]:
        """As they are in the ledger: writer, and what it wrote last."""
        return tuple((writer, each.encode().decode()) for writer, each in self.written.items())

    def of(self, seq: int) -> dict[str, Written]:
        """What was written already of the batch with this seq."""
        return {writer: each for writer, each in self.written.items() if each.seq == seq}


class Ledger:
    """Of one component in one life (`uid`) of a pipeline."""

    def __init__(self, clients: Clients, topic: str, uid: str, component: str) -> None:
        self.topic = topic
        self._clients = clients
        self._uid, self._component = uid, component
        self._own_run = 0

    def last_run(self) -> int:
        """The number of the last start; 0: there was none."""
        found = 0
        for message in read_to_end(self._clients, [(self.topic, RUN)], past_open=True):
            if message.key() == RUN_KEY and message.value() is not None:
                found = _decoded(message.value())["run"]
        return found

    def take(self, own_run: int | None = None) -> Taken:
        """1 and 2. `own_run`: this driver held the ledger before, and takes it again only if nobody else did since.

        A run that was written counts as held, also where a later step of the same call failed."""
        transactions = Transactions(self._clients.transactional(naming.query_id(self._uid, self._component)))
        transactions.init()
        run = self.last_run()
        own = self._own_run or own_run
        if own and run != own:
            raise Superseded(
                f"another driver runs '{self._component}' now (its start {run}, this one's {own})",
                hint="this one ends; nothing of it was written twice",
            )
        self._write(transactions, RUN, {RUN_KEY: orjson.dumps({"version": VERSION, "run": run + 1})})
        self._own_run = run + 1
        seats = self._seats()
        self._fence(seats)
        self._write(transactions, SEATS, dict.fromkeys(seats))
        return Taken(run + 1, self.written())

    def close(self) -> None:
        """Leaves no transaction open: the seats of this run, which is over, are fenced; those of a driver that took over are not."""
        self._fence(self._seats(self._own_run))

    def _write(self, transactions: Transactions, partition: int, records: Mapping[bytes, bytes | None]) -> None:
        """In one transaction; one that Kafka aborts is done again."""
        reason = ""
        for _ in range(_ATTEMPTS if records else 0):
            try:
                transactions.begin()
                for key, value in records.items():
                    transactions.produce(self.topic, value, key, partition)
                transactions.commit()
                return
            except Aborted as aborted:
                reason = str(aborted)
                transactions.abort()
        if records:
            raise Unavailable(
                f"the ledger '{self.topic}' cannot be written: {reason}", hint="the broker's log says why"
            )

    def _seats(self, of_run: int | None = None) -> list[bytes]:
        """Read uncommitted, since an open transaction of one seat must not hide another: one fenced in vain does no harm."""
        runs: dict[bytes, bytes | None] = {}
        for message in read_to_end(self._clients, [(self.topic, SEATS)], isolation="read_uncommitted"):
            runs[message.key()] = message.value()
        return [seat for seat, run in runs.items() if run is not None and of_run in (None, int(run))]

    def _fence(self, seats: Iterable[bytes]) -> None:
        ids = [naming.seat_id(self._uid, self._component, seat.decode()) for seat in seats]
        if ids:
            with ThreadPoolExecutor(min(len(ids), 16)) as pool:
                list(pool.map(lambda id: Transactions(self._clients.transactional(id)).init(), ids))

    def written(self) -> dict[str, Written]:
        """By writer: the last it wrote. Only seats write here; where all of them are fenced, nothing is open that could hide a record."""
        written: dict[str, Written] = {}
        for message in read_to_end(self._clients, [(self.topic, WRITTEN)], past_open=True):
            written[message.key().decode()] = Written.decode(message.value())
        return written


def _decoded(value: bytes) -> dict[str, int]:
    fields: dict[str, int] = orjson.loads(value)
    if fields["version"] > VERSION:
        raise WorldError(
            f"the ledger was written in format {fields['version']}, this Whorl knows {VERSION}",
            hint="use the newer Whorl",
        )
    return fields
