"""Other positions for a pipeline that does not run: looked at first, then written, all of them or none.

Of tasks, positions and group offsets are in one transaction with the register, so a job that starts meanwhile either comes before it or
sees all of it. A query's position is in Spark's log of offsets: a file, replaced by a rename before that transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from whorl.config.settings import Settings
from whorl.errors import UsageError, WorldError
from whorl.jobs.hold import Hold
from whorl.jobs.positions import LogsOf, Reader, any_logs, readers
from whorl.jobs.targets import Target
from whorl.kafka.topics import Cluster, Place
from whorl.plan import naming
from whorl.query.checkpoint import Logs
from whorl.query.gaps import whole
from whorl.query.ledger import Ledger
from whorl.tasks.control import news_end
from whorl.tasks.driver import refuse_second
from whorl.tasks.register import Registration


@dataclass(frozen=True)
class Move:
    reader: Reader
    place: Place
    before: int
    after: int


@dataclass
class Moves:
    """What is to be done, and what is to be said of it."""

    all: list[Move] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, reader: Reader) -> dict[Place, int]:
        return {move.place: move.after for move in self.all if move.reader is reader}

    @property
    def readers(self) -> list[Reader]:
        return list({id(move.reader): move.reader for move in self.all}.values())


@dataclass(frozen=True)
class Reset:
    """Of a pipeline at rest."""

    cluster: Cluster
    registration: Registration
    settings: Settings

    def refuse_running(self) -> None:
        end = news_end(self.cluster, self.registration.pipeline)
        refuse_second(self.cluster.clients, self.registration, self.settings, end)

    def moves(self, to: Target, topics: Collection[str], components: Collection[str]) -> Moves:
        with any_logs(self.settings, self.registration) as logs:
            found = readers(self.cluster, self.registration, logs)
            _refuse_unknown(self.registration.pipeline, found, topics, components)
            moves = Moves()
            for reader in found:
                if not components or reader.id in components:
                    self._plan(to, reader, topics, moves)
            for reader in moves.readers:
                moves.notes += self._about_doubt(reader, logs)
        moves.notes += [note for reader in found for note in _about_state(reader, moves)]
        return moves

    def _about_doubt(self, reader: Reader, logs: LogsOf) -> Iterator[str]:
        if not reader.is_query:
            return
        written = {each.seq for each in self._ledger(reader).written().values()}
        if (batch := _in_doubt(reader, _here(reader, logs), written)) is not None:
            yield f"{reader.id}: batch {batch} was begun, and nothing of it was written: it is withdrawn"

    def _ledger(self, reader: Reader) -> Ledger:
        uid = self.registration.uid
        topic = naming.ledger_topic(self.registration.pipeline, uid, reader.id)
        return Ledger(self.cluster.clients, topic, uid, reader.id)

    def _plan(self, to: Target, reader: Reader, topics: Collection[str], moves: Moves) -> None:
        chosen = topics or reader.sources
        places = [place for place in sorted(reader.positions) if place[0] in chosen]
        wanted = to.of(self.cluster, reader, places, moves.notes.append)
        earliest, latest = self.cluster.earliest(places), self.cluster.latest(places)
        for place in places:
            before, asked = reader.positions[place], wanted.get(place, reader.positions[place])
            after = min(max(asked, earliest[place]), latest[place])
            if after != asked:
                where = f"{reader.id}: {place[0]}/{place[1]}"
                moves.notes.append(
                    f"{where} has offsets {earliest[place]} to {latest[place]}, so {after} instead of {asked}"
                )
            if after != before:
                moves.all.append(Move(reader, place, before, after))

    def carry_out(self, moves: Moves) -> None:
        tasks = {reader.id: moves.of(reader) for reader in moves.readers if not reader.is_query}
        queries = [reader for reader in moves.readers if reader.is_query]
        with Hold(self.cluster, self.registration.pipeline, self.settings.heartbeat) as hold:
            with any_logs(self.settings, self.registration) as logs:
                for reader in queries:
                    self._move_query(reader, _here(reader, logs), moves.of(reader))
            hold.driver.move(tasks, {reader.group: moves.of(reader) for reader in queries})

    def _move_query(self, reader: Reader, log: Logs, to: dict[Place, int]) -> None:
        taken = self._ledger(reader).take()
        if (batch := _in_doubt(reader, log, taken.seqs)) is not None:
            log.withdraw(batch)
        log.move(whole(reader.positions, to))


def _about_state(reader: Reader, moves: Moves) -> Iterator[str]:
    """Positions move alone: what was kept of the records before them stays, also behind the component that reads them."""
    reads_others = any(topic not in reader.sources for topic, _ in reader.positions)
    concerned = [move for move in moves.all if move.reader is reader] or (moves.all if reads_others else [])
    if not reader.keeps or not concerned:
        return
    kept = ", ".join(f"'{id}'" for id in reader.keeps)
    effects = []
    if any(move.after < move.before for move in concerned):
        effects.append("what is read again is counted again")
    if any(move.after > move.before for move in concerned):
        effects.append("what is passed over is missing in it")
    yield f"{reader.id}: the state of {kept} stays as it is: {', '.join(effects)}; 'whorl run --fresh' begins without state"


def _refuse_unknown(pipeline: str, found: list[Reader], topics: Collection[str], components: Collection[str]) -> None:
    ids = [reader.id for reader in found]
    if unknown := [id for id in components if id not in ids]:
        raise UsageError(f"'{pipeline}' has no component '{unknown[0]}'", hint=f"it has {', '.join(ids)}")
    read = {topic for reader in found for topic, _ in reader.positions}
    if missing := [topic for topic in topics if topic not in read]:
        raise UsageError(
            f"no component of '{pipeline}' reads topic '{missing[0]}'", hint=f"they read {', '.join(sorted(read))}"
        )
    sources = {topic for reader in found for topic in reader.sources}
    if inner := [topic for topic in topics if topic not in sources]:
        what = f"topic '{inner[0]}' is between components, goes round, or is a table: moved alone it would not fit the rest"
        raise UsageError(what, hint=f"move a source: {', '.join(sorted(sources))}", code="offsets-inner")


def _here(reader: Reader, logs: LogsOf) -> Logs:
    log = logs(reader.id)
    if log is None or log.manifest() is None:
        what = f"the checkpoint of query '{reader.id}' is not here"
        hint = "call this where 'whorl run' runs, or give --set checkpoints=…"
        raise WorldError(what, hint=hint, code="checkpoint-gone")
    return log


def _in_doubt(reader: Reader, log: Logs, written: Collection[int]) -> int | None:
    """A batch that was begun and is not done. Spark would do it again with the offsets that it has noted, whatever is before them; it can
    be withdrawn where the ledger shows that nothing of it was written."""
    batch, manifest = log.progress().in_doubt, log.manifest()
    if batch is None or manifest is None:
        return None
    if not written or manifest.base + batch in written:
        what = f"batch {batch} of query '{reader.id}' was begun and is not done, and may be written in part: Spark has to repeat it"
        hint = "let it finish first: whorl run --until-caught-up"
        raise WorldError(what, hint=hint, code="offsets-in-doubt")
    return batch
